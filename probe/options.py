"""Writes of options: the dictionaries of modules and ``warp.config``. Values are only watched, never changed, except
that cache folders are mapped below the private root."""

import functools
import sys

from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_MISSING = object()


def plain(value):
    # type: (Any) -> Any
    """A JSON-able form of an option's value."""
    if isinstance(value, bool) or value is None:
        return value
    if type(value) in (int, float, str):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


class Options(dict):  # type: ignore[type-arg]
    """A module's options: a dict that tells about writes."""

    _module = None  # type: Any
    _probe = None  # type: Any

    def _note(self, changes):
        # type: (dict[Any, Any]) -> None
        probe = self._probe
        if probe is None:
            return
        try:
            frame = sys._getframe(2)
            # Up to 1.12 every load writes its block_dim here; that is Warp's doing.
            if frames.is_internal(frame.f_code.co_filename):
                name = frame.f_code.co_name
                if name not in ("set_module_options", "_set_strip_hash"):
                    return
            via = "set_module_options" if frame.f_code.co_name == "set_module_options" else "options"
            line = frames.user_line(2)
            for key, value in changes.items():
                known = key in self
                probe.log.repeated(
                    (via, self._module, str(key), line),
                    "option",
                    via=via,
                    module=self._module,
                    option=str(key),
                    known=known,
                    old=plain(self.get(key)),
                    new=plain(value),
                    line=line,
                )
        except Exception as error:
            probe.log.fault("options", error)

    def __setitem__(self, key, value):
        # type: (Any, Any) -> None
        # Up to 1.12 each launch writes the block_dim that is there already.
        if key != "block_dim" or dict.get(self, key, _MISSING) != value:
            self._note({key: value})
        dict.__setitem__(self, key, value)

    def update(self, *args, **kwargs):
        # type: (Any, Any) -> None
        try:
            changes = dict(*args, **kwargs)
        except Exception:
            dict.update(self, *args, **kwargs)
            return
        self._note(changes)
        dict.update(self, changes)

    def setdefault(self, key, default=None):
        # type: (Any, Any) -> Any
        if key not in self:
            self._note({key: default})
        return dict.setdefault(self, key, default)

    def __ior__(self, other):  # type: ignore[misc]
        # type: (Any) -> Any
        changes = dict(other)
        self._note(changes)
        dict.update(self, changes)
        return self

    def pop(self, key, *default):
        # type: (Any, Any) -> Any
        if key in self:
            self._note({key: None})
        return dict.pop(self, key, *default)

    def __delitem__(self, key):
        # type: (Any) -> None
        if key in self:
            self._note({key: None})
        dict.__delitem__(self, key)

    def __reduce__(self):
        # type: () -> Any
        # Copies and pickles are ordinary dictionaries: only the module's own tells.
        return (dict, (dict(self),))


def watch(module, probe):
    # type: (Any, Any) -> None
    """Make a Warp module's options tell about writes."""
    options = module.options
    if type(options) is dict:
        watched = Options(options)
        watched._module = module.name
        watched._probe = probe
        module.options = watched


def install(context, config, probe):
    # type: (Any, Any, Any) -> None
    """Hook Module.__init__ and the class of the ``warp.config`` module."""
    module_class = context.Module
    original = module_class.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        original(self, *args, **kwargs)
        try:
            watch(self, probe)
        except Exception as error:
            probe.log.fault("module", error)

    module_class.__init__ = __init__

    if config is None:
        return
    base = type(config)  # type: Any

    def __setattr__(self, name, value):
        # type: (Any, str, Any) -> None
        if name == "kernel_cache_dir" and value is not None:
            try:
                value = probe.caches.map(value, "wp.config.kernel_cache_dir")
            except Exception as error:
                probe.log.fault("kernel_cache_dir", error)
        try:
            frame = sys._getframe(1)
            if not frames.is_internal(frame.f_code.co_filename):
                known = name in self.__dict__ or hasattr(base, name)
                line = frames.user_line(1)
                probe.log.repeated(
                    ("config", name, line),
                    "option",
                    via="config",
                    module=None,
                    option=name,
                    known=known,
                    old=plain(self.__dict__.get(name)),
                    new=plain(value),
                    line=line,
                )
        except Exception as error:
            probe.log.fault("config", error)
        base.__setattr__(self, name, value)

    watched = type(base.__name__, (base,), {"__setattr__": __setattr__, "__module__": base.__module__})
    config.__class__ = watched
