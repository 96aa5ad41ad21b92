"""Records every launch: its signature interned, its order kept.

Hooked below ``wp.launch``, not around it: the tape and Warp's warnings look at the caller's frame, which must stay
the program's own. On the CPU that is ``invoke`` (where this Warp has it), which launches, recorded commands and tape
replay all pass; elsewhere it is where ``launch`` asks the loaded module for the kernel's entry points. What a launch
looks like is read from the frame of ``launch`` only when it is new: touching a frame costs more than all the rest.
"""

import functools
import hashlib
import sys
import threading
import weakref

from . import frames, kernels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

MOST = 20000
"""Signatures that are told apart; a program that launches in ever new shapes has no use for more."""
_CHECKED = 64
"""How often ``max_blocks``, which Warp ignores on the CPU, is read for a launch that looks like one seen before."""


class _Thread(threading.local):
    command = None  # type: Any


def install(context, probe):
    # type: (Any, Any) -> None
    """Hook the ways to a launch that this version of Warp has."""
    thread = _Thread()
    below = [name for name in ("invoke", "invoke_cpu_blocks") if hasattr(context, name)]
    for name in below:
        _hook_invoke(context, name, probe, thread)
    for hook, given in (
        (_hook_entry_points, (context, probe, bool(below))),
        (_hook_recorded, (context, probe, thread, bool(below))),
        (_hook_capture, (context, probe)),
    ):  # type: Any, Any
        try:
            hook(*given)
        except AttributeError:
            continue  # said by ``capabilities``


def _hook_invoke(context, name, probe, thread):
    # type: (Any, str, Any, _Thread) -> None
    """``invoke(kernel, hooks, params, adjoint)`` runs a kernel on the CPU; ``params[0]`` holds the launch's bounds."""
    original = getattr(context, name)
    sequence = probe.sequence

    @functools.wraps(original)
    def invoke(kernel, hooks, params, adjoint):
        # type: (Any, Any, list[Any], bool) -> Any
        try:
            entry = hooks._warpfix[bytes(params[0]), adjoint, thread.command is None]
            if entry[1]:
                entry = _look(context, probe, thread, kernel, hooks, params, adjoint)
        except (AttributeError, KeyError):
            entry = _look(context, probe, thread, kernel, hooks, params, adjoint)
        try:
            sequence.append(entry[0])
        except Exception as error:
            probe.log.fault("launch", error)
        return original(kernel, hooks, params, adjoint)

    setattr(context, name, invoke)


def _look(context, probe, thread, kernel, hooks, params, adjoint):
    # type: (Any, Any, _Thread, Any, Any, list[Any], bool) -> Any
    """The [signature id, checks left] of a launch on the CPU, read from the launching frame."""
    try:
        table = probe.signatures.table(hooks)
        command = thread.command
        if command is not None:
            where = command.module_exec
            dim, block_dim, max_blocks = _shape(params[0]), getattr(command, "block_dim", None), command.max_blocks
        else:
            frame = sys._getframe(2)  # type: Any
            while frame is not None and frame.f_code is not context.launch.__code__:
                frame = frame.f_back if frames.is_internal(frame.f_code.co_filename) else None
            values = frame.f_locals if frame is not None else {}
            where = values.get("module_exec")
            dim = values.get("dim", _shape(params[0]))
            block_dim, max_blocks = values.get("block_dim"), values.get("max_blocks", 0)
        kind = "launch" if command is None else "recorded"
        full = (tuple(canonical(dim)), max_blocks, adjoint, kind)
        number = table.get(full)
        if number is None:
            number = probe.signatures.of(where, kernel, kind, dim, block_dim, max_blocks, adjoint)
            if number == probe.signatures.other:
                return (number, 0)
            table[full] = number
        key = (bytes(params[0]), adjoint, command is None)
        entry = table.get(key)
        if entry is None:
            entry = table[key] = [number, _CHECKED]
        entry[0] = number
        entry[1] -= 1
        return entry
    except Exception as error:
        probe.log.fault("launch", error)
        return (probe.signatures.unknown(), 0)


def _shape(bounds):
    # type: (Any) -> tuple[int, ...]
    shape = tuple(bounds.shape)
    return shape[: bounds.ndim] if hasattr(bounds, "ndim") else shape


def _hook_entry_points(context, probe, cpu_elsewhere):
    # type: (Any, Any, bool) -> None
    """ModuleExec.get_kernel_hooks: each ``wp.launch`` asks it, on any device, right before it runs the kernel."""
    module_exec = context.ModuleExec
    original = module_exec.get_kernel_hooks
    launch_code = context.launch.__code__
    getframe = sys._getframe
    sequence = probe.sequence

    @functools.wraps(original)
    def get_kernel_hooks(self, kernel):
        # type: (Any, Any) -> Any
        hooks = original(self, kernel)
        if cpu_elsewhere and self.device.is_cpu:
            return hooks
        frame = getframe(1)
        if frame.f_code is launch_code:
            try:
                values = frame.f_locals
                if values["record_cmd"]:
                    return hooks
                dim = values["dim"]
                if type(dim) is list:
                    dim = tuple(dim)
                key = (dim, values["block_dim"], values["max_blocks"], values["adjoint"])
                try:
                    number = hooks._warpfix[key]
                except (AttributeError, KeyError):
                    number = probe.signatures.of(self, kernel, "launch", *key)
                    probe.signatures.keep(hooks, key, number)
                sequence.append(number)
            except Exception as error:
                probe.log.fault("launch", error)
        return hooks

    if cpu_elsewhere:
        # With no CUDA device there is nothing here to see, and each launch is spared a call.
        init = module_exec.__init__

        @functools.wraps(init)
        def __init__(self, *args, **kwargs):
            # type: (Any, Any, Any) -> None
            init(self, *args, **kwargs)
            if not getattr(self.device, "is_cpu", True) and module_exec.get_kernel_hooks is original:
                module_exec.get_kernel_hooks = get_kernel_hooks

        module_exec.__init__ = __init__
    else:
        module_exec.get_kernel_hooks = get_kernel_hooks

    capture = sys.modules.get(context.__name__.rsplit(".", 1)[0] + ".apic.capture")
    recorder = getattr(capture, "APICapture", None)  # type: Any
    build = getattr(recorder, "build_launch_info", None)
    if build is None:
        return

    @functools.wraps(build)
    def build_launch_info(self, kernel, where, hooks, params, fwd_args, adjoint, *args, **kwargs):
        # type: (Any, Any, Any, Any, list[Any], Any, bool, Any, Any) -> Any
        try:
            if cpu_elsewhere and where.device.is_cpu:
                # Launches on the CPU inside a capture run through the recorder, not through invoke.
                dim = _shape(params[0])
                key = (dim, "captured", adjoint)
                number = probe.signatures.table(hooks).get(key)
                if number is None:
                    number = probe.signatures.of(where, kernel, "launch", dim, None, 0, adjoint)
                    probe.signatures.keep(hooks, key, number)
                sequence.append(number)
        except Exception as error:
            probe.log.fault("captured launch", error)
        return build(self, kernel, where, hooks, params, fwd_args, adjoint, *args, **kwargs)

    recorder.build_launch_info = build_launch_info


def _hook_recorded(context, probe, thread, cpu_elsewhere):
    # type: (Any, Any, _Thread, bool) -> None
    """Launch.launch: a recorded command runs."""
    command = context.Launch
    run = command.launch

    @functools.wraps(run)
    def launch(self, *args, **kwargs):
        # type: (Any, Any, Any) -> Any
        if cpu_elsewhere and self.device.is_cpu:
            thread.command = self
            try:
                return run(self, *args, **kwargs)
            finally:
                thread.command = None
        try:
            shape = _shape(self.bounds)
            key = (shape, getattr(self, "block_dim", None), self.max_blocks, self.adjoint, "recorded")
            try:
                number = self.hooks._warpfix[key]
            except (AttributeError, KeyError):
                number = probe.signatures.of(self.module_exec, self.kernel, "recorded", *key[:4])
                probe.signatures.keep(self.hooks, key, number)
            probe.sequence.append(number)
        except Exception as error:
            probe.log.fault("recorded launch", error)
        return run(self, *args, **kwargs)

    command.launch = launch


def _hook_capture(context, probe):
    # type: (Any, Any) -> None
    """capture_launch replays a graph: one event, apart from launches."""
    replay = getattr(context, "capture_launch", None)
    if replay is None:
        return

    @functools.wraps(replay)
    def capture_launch(*args, **kwargs):
        # type: (Any, Any) -> Any
        try:
            graph = args[0] if args else kwargs.get("graph")
            device = getattr(graph, "device", None)
            probe.sequence.append(probe.signatures.capture(str(device) if device is not None else ""))
        except Exception as error:
            probe.log.fault("capture_launch", error)
        return replay(*args, **kwargs)

    context.capture_launch = capture_launch


def canonical(dim):
    # type: (Any) -> list[int]
    """A launch dimension as a list of ints."""
    try:
        return [int(dim)]
    except TypeError:
        return [int(part) for part in dim]


def dtypes(context, kernel):
    # type: (Any, Any) -> list[str]
    """The types that this kernel instance takes, in Warp's spelling: Warp checks each argument against them."""
    types = probe_types(context)
    names = []
    for argument in kernel.adj.args:
        kind = argument.type
        try:
            names.append(types.get_type_code(kind))
        except Exception:
            names.append(getattr(kind, "__name__", None) or repr(kind))
    return names


def probe_types(context):
    # type: (Any) -> Any
    """Warp's types module, wherever this version keeps it."""
    return sys.modules[context.__name__.rsplit(".", 1)[0] + ".types"]


_BARE = {
    "kernel": None,
    "overload": "",
    "variant": "",
    "module": "",
    "load": -1,
    "dim": [],
    "dtypes": [],
    "device": "",
    "block_dim": 0,
    "max_blocks": 0,
    "adjoint": False,
}  # type: dict[str, Any]


def _variant(kernel):
    # type: (Any) -> str
    """What tells a kernel from others of its key in one module: the beginning of its hash."""
    value = getattr(kernel, "hash", None)
    return value.hex()[:16] if isinstance(value, bytes) else ""


class Signatures:
    """Interned launch signatures: each is logged once."""

    def __init__(self, probe):
        # type: (Any) -> None
        self.probe = probe
        self.known = {}  # type: dict[bytes, int]
        self.tables = []  # type: list[Any]
        self.crowded = 4096
        self.other = None  # type: Any
        self.lock = threading.Lock()
        self.bare = {}  # type: dict[tuple[str, str], int]

    def add(self, **fields):
        # type: (Any) -> int
        """The id of a signature, logged when it is new. Equal content has one id: a factory that makes its kernel anew
        at every step launches the same thing."""
        content = repr(sorted(fields.items()))
        key = hashlib.sha256(content.encode("utf-8", "backslashreplace")).digest()
        number = self.known.get(key)
        if number is not None:
            return number
        with self.lock:
            number = self.known.get(key)
            if number is None and len(self.known) >= MOST:
                self.probe.sequence.unlike(content)
                if self.other is not None:
                    return int(self.other)
                self.other = len(self.known)
                fields = dict(_BARE, kind="other")
            if number is None:
                number = self.known[key] = len(self.known)
                self.probe.log.event("sig", id=number, line=frames.user_line(1), **fields)
        return number

    def table(self, hooks):
        # type: (Any) -> dict[Any, Any]
        """What was seen of one kernel's entry points; kept on them, so that no id is taken for another's."""
        table = getattr(hooks, "_warpfix", None)
        if table is None:
            table = hooks._warpfix = {}
            self.tables.append(weakref.ref(hooks))
            if len(self.tables) > self.crowded:
                self.tables = [one for one in self.tables if one() is not None]
                self.crowded = max(4096, 2 * len(self.tables))
        elif len(table) >= MOST:
            # The ids stay known by their content.
            table.clear()
        return table

    def keep(self, hooks, key, number):
        # type: (Any, Any, int) -> None
        """Remember a launch's id, so that the next one like it is quick; one of too many is looked at each time."""
        table = self.table(hooks)
        if number != self.other:
            table[key] = number

    def of(self, module_exec, kernel, kind, dim, block_dim, max_blocks, adjoint):
        # type: (Any, Any, str, Any, Any, int, bool) -> int
        """Log a launch's signature and return its id."""
        load = getattr(module_exec, "_warpfix_load", None) or {}
        effective = load.get("block_dim", block_dim)
        return self.add(
            kernel=kernels.describe(kernel),
            overload=kernel.sig,
            variant=_variant(kernel),
            module=kernel.module.name,
            load=load.get("id", -1),
            dim=canonical(dim),
            dtypes=dtypes(self.probe.context, kernel),
            device=str(getattr(module_exec, "device", "")),
            block_dim=effective if effective is not None else 0,
            max_blocks=int(max_blocks),
            adjoint=bool(adjoint),
            kind=kind,
        )

    def unknown(self):
        # type: () -> int
        """The id for a launch that could not be read: counted, never equal to another process's by accident."""
        return self._bare("unknown", "")

    def capture(self, device):
        # type: (str) -> int
        """The id for replaying a captured graph on a device."""
        return self._bare("capture_launch", device)

    def _bare(self, kind, device):
        # type: (str, str) -> int
        number = self.bare.get((kind, device))
        if number is None:
            number = self.bare[kind, device] = self.add(**dict(_BARE, kind=kind, device=device))
        return number

    def forget(self):
        # type: () -> None
        """In a forked child: signatures must be logged again, in the child's own log."""
        for one in self.tables:
            hooks = one()
            if hooks is not None:
                hooks._warpfix.clear()
        self.tables = []
        self.bare.clear()
        self.known.clear()
        self.other = None
        self.lock = threading.Lock()
