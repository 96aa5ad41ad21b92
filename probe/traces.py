"""Keeps the probe's frames out of the tracebacks that the program shows.

A hook around a call of Warp adds its frame to every exception that passes. It can't be taken out on the way, so it is
taken out where tracebacks are shown: by the interpreter, by ``threading``, and by ``traceback`` (and with it
``logging``, ``unittest``). pytest leaves out frames of modules that hold ``__tracebackhide__``.
"""

import contextlib
import functools
import os
import sys
import threading

from . import importing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_NAMES = ("<frozen _warpfix_probe", os.path.dirname(os.path.abspath(__file__)) + os.sep)
"""How the files of the probe's code begin: as the injected ``sitecustomize`` names them, and elsewhere."""


def _ours(trace):
    # type: (Any) -> bool
    return bool(trace.tb_frame.f_code.co_filename.startswith(_NAMES))


def unlink(trace):
    # type: (Any) -> Any
    """The traceback without frames of the probe."""
    while trace is not None and _ours(trace) and trace.tb_next is not None:
        trace = trace.tb_next
    one = trace
    while one is not None:
        while one.tb_next is not None and _ours(one.tb_next):
            one.tb_next = one.tb_next.tb_next
        one = one.tb_next
    return trace


def clean(error):
    # type: (Any) -> None
    """Take the probe's frames out of an exception's traceback, its causes' and its context's."""
    pending = [error]
    met = set()  # type: set[int]
    while pending:
        one = pending.pop()
        if one is None or id(one) in met:
            continue
        met.add(id(one))
        trace = getattr(one, "__traceback__", None)
        if trace is not None:
            kept = unlink(trace)
            if kept is not trace:
                one.__traceback__ = kept
        pending += [getattr(one, "__cause__", None), getattr(one, "__context__", None)]
        inner = getattr(one, "exceptions", None)
        if isinstance(inner, tuple):
            pending += inner


def install():
    # type: () -> None
    """Clean what is about to be shown. To be called when all modules of the probe are imported."""
    for name in [name for name in sys.modules if name.startswith(__name__.rpartition(".")[0] + ".")]:
        sys.modules[name].__dict__["__tracebackhide__"] = True
    show = sys.excepthook

    @functools.wraps(show)
    def excepthook(kind, value, trace):
        # type: (Any, Any, Any) -> Any
        try:
            clean(value)
            trace = unlink(trace)
        except Exception:
            pass  # shown as it is, then
        return show(kind, value, trace)

    sys.excepthook = sys.__excepthook__ = excepthook

    show_in_thread = threading.excepthook

    @functools.wraps(show_in_thread)
    def thread_excepthook(args, /):
        # type: (Any) -> Any
        with contextlib.suppress(Exception):
            clean(args.exc_value)
        return show_in_thread(args)

    threading.excepthook = thread_excepthook
    if hasattr(threading, "__excepthook__"):
        threading.__excepthook__ = thread_excepthook
    importing.when_executed(("traceback",), _hook_traceback)


def _hook_traceback(module):
    # type: (Any) -> bool
    report = module.TracebackException
    init = report.__init__

    @functools.wraps(init)
    def __init__(self, exc_type, exc_value, exc_traceback, *args, **kwargs):
        # type: (Any, Any, Any, Any, Any, Any) -> None
        try:
            clean(exc_value)
            exc_traceback = unlink(exc_traceback)
        except Exception:
            pass
        init(self, exc_type, exc_value, exc_traceback, *args, **kwargs)

    report.__init__ = __init__
    extract = module.extract_tb

    @functools.wraps(extract)
    def extract_tb(tb, *args, **kwargs):
        # type: (Any, Any, Any) -> Any
        with contextlib.suppress(Exception):
            tb = unlink(tb)
        return extract(tb, *args, **kwargs)

    module.extract_tb = extract_tb
    return True
