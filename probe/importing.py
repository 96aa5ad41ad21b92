"""Calls back when Warp's context module has been executed, before anything else sees it."""

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


class _Finder:
    """Finds nothing itself: lets the others find Warp's context module and wraps its execution, once."""

    def __init__(self, names, callback):
        # type: (tuple[str, ...], Any) -> None
        self.names = names
        self.callback = callback
        self.done = False

    def find_spec(self, name, path=None, target=None):
        # type: (str, Any, Any) -> Any
        if name not in self.names:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader  # type: Any
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return spec

        # The loader of a frozen module (runpy, since 3.11) is a class, shared by all of them: others may be executed in
        # between, and what stood there must stand there again.
        before = vars(loader).get("exec_module") if hasattr(loader, "__dict__") else None  # type: Any

        def exec_module(module):
            # type: (Any) -> None
            if isinstance(loader, type) and module.__name__ != name:
                execute(module)
                return
            with contextlib.suppress(AttributeError):
                if before is None:
                    del loader.exec_module
                else:
                    loader.exec_module = before
            execute(module)
            with contextlib.suppress(Exception):
                # Where another finder asks all the others as well, the execution is wrapped twice; one call is enough.
                if not self.done and self.callback(module):
                    self.done = True
                    if self in sys.meta_path:
                        sys.meta_path.remove(self)

        # On the instance: the loader keeps its type, as programs that look at __loader__ expect.
        with contextlib.suppress(AttributeError):
            loader.exec_module = exec_module
        return spec


def when_executed(names, callback):
    # type: (tuple[str, ...], Any) -> None
    """Call ``callback(module)`` after any of ``names`` ran; it returns True when it has what it waited for."""
    for name in names:
        module = sys.modules.get(name)
        if module is not None and callback(module):
            return
    sys.meta_path.insert(0, _Finder(names, callback))
