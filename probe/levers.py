"""What-if overrides: options set as early writes of the program's entry point would set them, and preloading.

An option of ``wp.config`` is written when ``import warp`` has just ended: before the program creates a Warp module,
after Warp made its own. An option of one module is written when that module is created. What the program writes later
wins, as it would over an early line of its own, and so does what a kernel's decorator says. None of it passes the hooks
that watch the program's writes: the log tells these as warpfix's own.
"""

import functools
import sys

from . import frames, importing
from .options import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_HEX = frozenset("0123456789abcdef")


def stem(name):
    # type: (str) -> str
    """The name of a unique module without the hash at its end, which follows from options too; others as they are."""
    head, mark, tail = name.rpartition("_")
    return head if mark and len(tail) == 8 and _HEX.issuperset(tail) else name


class Levers:
    """The overrides of this process. Tells what it did; never raises into the program."""

    def __init__(self, probe, wanted):
        # type: (Any, dict[str, Any]) -> None
        self.probe = probe
        self.options = dict(wanted.get("options") or {})
        self.modules = {stem(name): values for name, values in (wanted.get("modules") or {}).items()}
        self.preload = list(wanted.get("preload") or [])
        self.workers = wanted.get("workers")

    def configure(self, warp):
        # type: (Any) -> bool
        """Write to ``wp.config``, in its dictionary: no hook sees it. True when this was Warp."""
        config = sys.modules.get("warp.config")
        if config is None:
            return False
        try:
            for name, value in self.options.items():
                known = name in vars(config)
                if known:
                    self.told(name, value, vars(config)[name])
                    vars(config)[name] = value
                else:
                    self.probe.log.event("lever", option=name, known=False)
        except Exception as error:
            self.probe.log.fault("levers", error)
        return True

    def told(self, option, value, old, module=None):
        # type: (str, Any, Any, Any) -> None
        """Log an override."""
        self.probe.log.event("lever", option=option, value=plain(value), old=plain(old), module=module, known=True)

    def created(self, module):
        # type: (Any) -> None
        """Write the options of a module that was just created."""
        for name, value in self.modules.get(stem(module.name), {}).items():
            old = module.options.get(name)
            dict.__setitem__(module.options, name, value)
            self.told(name, value, old, module.name)

    def load_ahead(self, context):
        # type: (Any) -> None
        """Load what the measured run loaded, as one line before the first launch would."""
        wanted, self.preload = self.preload, []
        if not wanted:
            return
        registered = {}  # type: dict[str, list[Any]]
        for module in list(context.user_modules.values()):
            registered.setdefault(module.name, []).append(module)
            if stem(module.name) != module.name:
                registered.setdefault(stem(module.name), []).append(module)
        groups = {}  # type: dict[tuple[str, int], list[Any]]
        missing = []
        for entry in wanted:
            # An option that is overridden too gives a unique module another name.
            named = registered.get(entry["module"]) or registered.get(stem(entry["module"]))
            if not named:
                missing.append(entry["module"])
                continue
            group = groups.setdefault((entry["device"], entry["block_dim"]), [])
            group += [module for module in named if module not in group]
        found = sum(len(group) for group in groups.values())
        self.probe.log.event("lever", option="preload", value=found, missing=missing, known=True)
        for (device, block_dim), group in groups.items():
            options = {"device": device, "modules": group, "block_dim": block_dim}
            if self.workers is not None:
                options["max_workers"] = self.workers
            context.force_load(**options)


def begin(probe):
    # type: (Any) -> Any
    """The overrides that the configuration asks for, or None. Called before the program runs."""
    wanted = probe.config.get("levers")
    if not wanted:
        return None
    levers = Levers(probe, wanted)
    if levers.options:
        importing.when_executed(("warp",), levers.configure)
    return levers


def install(context, probe):
    # type: (Any, Any) -> None
    """Hook the creation of modules. To be called before the hooks that watch options."""
    levers = probe.levers
    if levers is None or not levers.modules:
        return
    module_class = context.Module
    create = module_class.__init__

    @functools.wraps(create)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        create(self, *args, **kwargs)
        try:
            levers.created(self)
        except Exception as error:
            probe.log.fault("levers", error)

    module_class.__init__ = __init__


def install_preload(context, probe):
    # type: (Any, Any) -> None
    """Hook the first load. To be called after the hooks that time loads: what is preloaded is no part of that one."""
    levers = probe.levers
    if levers is None or not levers.preload:
        return
    module_class = context.Module
    load = module_class.load

    @functools.wraps(load)
    def load_first(self, *args, **kwargs):
        # type: (Any, Any, Any) -> Any
        if levers.preload:
            outer = probe.loads.preload
            probe.loads.preload = frames.user_line(1)
            try:
                levers.load_ahead(context)
            except Exception as error:
                probe.log.fault("preload", error)
            finally:
                probe.loads.preload = outer
                if module_class.load is load_first:
                    module_class.load = load
        return load(self, *args, **kwargs)

    module_class.load = load_first
