"""The emulated driver: what its parts share."""

import ctypes
import itertools

from .algorithms import Algorithms
from .execute import Execution
from .facts import Facts
from .graphs import Graphs
from .library import Library
from .memory import Memory
from .streams import Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


class Errors:
    """The last error, in Warp's way: the caller asks for its text."""

    def __init__(self, real):
        # type: (Any) -> None
        self.real = real
        self.text = ""
        # Warp sets its types on the entry that stands before it.
        real.wp_get_error_string.restype = ctypes.c_char_p

    def set(self, text):
        # type: (str) -> None
        """Remember the text for who asks next."""
        self.text = text

    def wp_get_error_string(self):
        # type: () -> bytes
        text, self.text = self.text, ""
        return text.encode("utf-8") if text else self.real.wp_get_error_string()


class Driver:
    """One emulated device with its state."""

    def __init__(self, real, arch, twins, deviations):
        # type: (Any, int, Any, Any) -> None
        self.real = real
        self.arch = arch
        self.twins = twins
        self.deviations = deviations
        self.handles = itertools.count(0x10000, 16)
        self.errors = Errors(real)
        self.streams = Streams(self)
        self.memory = Memory(self)
        self.graphs = Graphs(self)
        self.execution = Execution(self)
        self.facts = Facts(arch, int(real.wp_cuda_toolkit_version()), self)
        parts = (self.execution, self.streams, self.memory, self.graphs, self.facts, self.errors)
        self.library = Library(real, parts, Algorithms(self), deviations)

    def handle(self):
        # type: () -> int
        """A new handle: of a stream, event, graph, module or kernel."""
        return next(self.handles)
