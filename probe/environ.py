"""Keeps the probe and the private caches in processes that the program starts with an environment of its own."""

import functools
import os

from . import importing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)


def keeper(folder, kept):
    # type: (str, dict[str, str]) -> Any
    """A function that returns a copy of an environment with the injected folder first and the caches private."""

    def keep(env):
        # type: (Any) -> Any
        if env is None:
            return None
        binary = any(isinstance(key, bytes) for key in env)
        new = dict(env)

        def name(text):
            # type: (str) -> Any
            return os.fsencode(text) if binary else text

        def put(key, value):
            # type: (str, str) -> None
            if os.name == "nt":
                for existing in [other for other in new if str(other).upper() == key]:
                    del new[existing]
            new.pop(key, None)
            new.pop(os.fsencode(key), None)
            new[name(key)] = name(value)

        old = new.get("PYTHONPATH", new.get(b"PYTHONPATH", ""))
        old = os.fsdecode(old) if old else ""
        parts = [part for part in old.split(os.pathsep) if part and part != folder]
        put("PYTHONPATH", os.pathsep.join([folder] + parts))
        for key, value in kept.items():
            if key not in new and os.fsencode(key) not in new:
                put(key, value)
        return new

    return keep


def command_keeper(folder):
    # type: (str) -> Any
    """A function that keeps the probe in a command that sets PYTHONPATH: ``env PYTHONPATH=src python x.py``."""

    def keep(args):
        # type: (Any) -> Any
        if not isinstance(args, (list, tuple)) or not args:
            return args
        try:
            first = os.path.basename(os.fsdecode(args[0]))
        except TypeError:
            return args
        if first != "env":
            return args
        new = list(args)
        for index, arg in enumerate(new[1:], 1):
            if not isinstance(arg, str):
                continue
            if arg.startswith("PYTHONPATH=") and not arg.startswith("PYTHONPATH=" + folder):
                rest = arg[len("PYTHONPATH=") :]
                new[index] = "PYTHONPATH=" + folder + (os.pathsep + rest if rest else "")
            elif "=" not in arg and not arg.startswith("-"):
                break
        return new if isinstance(args, list) else tuple(new)

    return keep


def install(folder, kept, before_exec):
    # type: (str, dict[str, str], Any) -> None
    """Wrap every way in which Python starts a program with a given environment."""
    keep = keeper(folder, kept)
    keep_command = command_keeper(folder)

    def wrap_popen(module):
        # type: (Any) -> bool
        start = module.Popen.__init__

        @functools.wraps(start)
        def __init__(self, args, *rest, **kwargs):
            # type: (Any, Any, Any, Any) -> None
            # Popen(args, bufsize, executable, stdin, stdout, stderr, preexec_fn, close_fds, shell, cwd, env, ...)
            if kwargs.get("env") is not None:
                kwargs["env"] = keep(kwargs["env"])
            elif len(rest) > 9 and rest[9] is not None:
                rest = rest[:9] + (keep(rest[9]),) + rest[10:]
            start(self, keep_command(args), *rest, **kwargs)

        module.Popen.__init__ = __init__
        return True

    # When the program imports it: a module of its own may have that name, and most programs never start another.
    importing.when_executed(("subprocess",), wrap_popen)

    def wrap_exec(name):
        # type: (str) -> None
        original = getattr(os, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def run(path, args, env):
            # type: (Any, Any, Any) -> Any
            before_exec()
            return original(path, keep_command(args), keep(env))

        setattr(os, name, run)

    def wrap_exec_plain(name):
        # type: (str) -> None
        original = getattr(os, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def run(path, args):
            # type: (Any, Any) -> Any
            before_exec()
            return original(path, keep_command(args))

        setattr(os, name, run)

    wrap_exec("execve")
    wrap_exec_plain("execv")

    for name in ("posix_spawn", "posix_spawnp"):
        original = getattr(os, name, None)
        if original is None:
            continue

        def spawn(path, argv, env, _original=original, **kwargs):
            # type: (Any, Any, Any, Any, Any) -> Any
            return _original(path, keep_command(argv), keep(env), **kwargs)

        setattr(os, name, functools.wraps(original)(spawn))
