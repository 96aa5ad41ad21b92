"""Warp's own lines on stdout, told apart from the program's: the exact text, in order."""

import builtins
import functools
import io
import sys

from . import importing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


def install(context, probe):
    # type: (Any, Any) -> None
    """Hook the default logger where there is one (1.14), else ``print`` as Warp's own modules see it."""
    prefix = context.__name__.rsplit(".", 1)[0]
    logger = sys.modules.get(prefix + ".logger")
    basic = getattr(logger, "LoggerBasic", None)
    if basic is not None:
        for name in ("debug", "info"):
            original = getattr(basic, name)

            def emit(self, message, _original=original):
                # type: (Any, str, Any) -> Any
                note(probe, str(message) + "\n")
                return _original(self, message)

            setattr(basic, name, functools.wraps(original)(emit))
        return

    def say(*args, **kwargs):
        # type: (Any, Any) -> None
        if kwargs.get("file") in (None, sys.stdout):
            try:
                text = io.StringIO()
                print(*args, file=text, sep=kwargs.get("sep", " "), end=kwargs.get("end", "\n"))
                note(probe, text.getvalue())
            except Exception as error:
                probe.log.fault("print", error)
        builtins.print(*args, **kwargs)

    def shadow(module):
        # type: (Any) -> bool
        if "print" not in module.__dict__:
            module.print = say
        return True

    # Warp's modules that print load lines and the banner; a global shadows the built-in there only. ``utils`` is
    # imported after the context.
    for name in ("context", "utils", "build"):
        importing.when_executed((prefix + "." + name,), shadow)


def note(probe, text):
    # type: (Any, str) -> None
    """Log lines that Warp printed; bounded, because a program may time a million steps with wp.ScopedTimer."""
    probe.printed += 1
    if probe.printed <= 20000:
        probe.log.event("out", text=text)
