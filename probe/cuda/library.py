"""Warp's native library as Warp sees it under ``--target``: the real one, but for what needs a driver or a device."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

REAL = frozenset(
    (
        "wp_cuda_compile_dot",
        "wp_cuda_compile_fft",
        "wp_cuda_compile_program",
        "wp_cuda_compile_solver",
        "wp_cuda_toolkit_version",
    )
)
"""CUDA's compilers: linked into the wheel, and true without a driver."""


class Entry:
    """One entry point. Warp sets argument and result types on it, as on ctypes' own."""

    def __init__(self, name, answer):
        # type: (str, Any) -> None
        self.name = name
        self.answer = answer
        self.argtypes = None  # type: Any
        self.restype = None  # type: Any

    def __call__(self, *args):
        # type: (Any) -> Any
        return self.answer(*args)


class Library:
    """Looks an entry point up where it is answered: in one of ``parts``, as the host's algorithm, or really."""

    def __init__(self, real, parts, algorithms, deviations):
        # type: (Any, Any, Any, Any) -> None
        self._real = real
        self._parts = parts
        self._algorithms = algorithms
        self._deviations = deviations

    def __getattr__(self, name):
        # type: (str) -> Any
        if name.startswith("__"):
            raise AttributeError(name)
        entry = self._find(name)
        # From now on it is found without this method.
        self.__dict__[name] = entry
        return entry

    def _find(self, name):
        # type: (str) -> Any
        for part in self._parts:
            answer = getattr(part, name, None)
            if answer is not None:
                return Entry(name, answer)
        real = getattr(self._real, name)
        if name in REAL or not (name.startswith("wp_cuda_") or name.endswith("_device")):
            return real
        entry = Entry(name, None)
        entry.answer = self._algorithms.answer(entry) or self._missing(name)
        return entry

    def _missing(self, name):
        # type: (str) -> Any
        def refuse(*args):
            # type: (Any) -> Any
            raise self._deviations.unsupported(name)

        return refuse
