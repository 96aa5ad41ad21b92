"""The precompiled header: its cost told apart from the module that happened to be compiled first."""

import os
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


_claimed = set()  # type: set[tuple[str, float]]


class Header:
    """The header's part of one native compilation: from its start to the last write of a header file that appeared
    meanwhile. Clang writes it into Warp's folder for this thread; NVRTC into that, or into a folder of its own."""

    def __init__(self, folder):
        # type: (Any) -> None
        self.folder = folder
        self.since = 0.0

    def begin(self):
        # type: () -> None
        """The compiler is about to start."""
        self.since = time.time()

    def end(self):
        # type: () -> float
        """Seconds that making the header took; 0.0 where there was one already, or none."""
        if not self.since:
            return 0.0
        last = 0.0
        own = "__nvrtc_auto_pch_%d_" % os.getpid()
        try:
            folders = [self.folder] if self.folder else []
            if not folders:
                root = tempfile.gettempdir()
                folders = [os.path.join(root, name) for name in os.listdir(root) if name.startswith(own)]
            for folder in folders:
                for name in os.listdir(folder):
                    path = os.path.join(folder, name)
                    key = (path, os.stat(path).st_mtime)
                    # File systems stamp with the time of the last tick, some milliseconds ago.
                    if key[1] >= self.since - 0.01 and key not in _claimed:
                        _claimed.add(key)
                        last = max(last, key[1])
        except OSError:
            pass
        return max(0.0, last - self.since) if last else 0.0
