"""Records every launch: its signature interned, its order kept.

Hooked below ``wp.launch`` (where it asks the loaded module for the kernel's entry points), not around it: the tape and
Warp's warnings look at the caller's frame, which must stay the program's own. Older and newer Warps, CPU and CUDA,
recorded commands and tape replay all pass here. Cost: a call, a read of the launch's locals and two dictionary look-ups.
"""

import functools
import sys

from . import frames, kernels


def install(context, probe):
    # type: (object, object) -> None
    """Hook ModuleExec.get_kernel_hooks, Launch.launch and capture_launch."""
    module_exec = context.ModuleExec
    original = module_exec.get_kernel_hooks
    launch_code = context.launch.__code__
    getframe = sys._getframe
    sequence = probe.sequence
    append = sequence.append

    @functools.wraps(original)
    def get_kernel_hooks(self, kernel):
        # type: (object, object) -> object
        hooks = original(self, kernel)
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
                    number = intern(self, kernel, hooks, key, "launch")
                append(number)
            except Exception as error:
                probe.log.fault("launch", error)
        return hooks

    def intern(module, kernel, hooks, key, kind):
        # type: (object, object, object, tuple[object, ...], str) -> int
        dim, block_dim, max_blocks, adjoint = key
        return probe.signature(module, kernel, hooks, key, kind, dim, block_dim, max_blocks, adjoint)

    module_exec.get_kernel_hooks = get_kernel_hooks

    command = context.Launch
    run = command.launch

    @functools.wraps(run)
    def launch(self, *args, **kwargs):
        # type: (object, object, object) -> object
        try:
            bounds = self.bounds
            shape = tuple(bounds.shape[: bounds.ndim])
            key = (shape, getattr(self, "block_dim", None), self.max_blocks, self.adjoint, "recorded")
            hooks = self.hooks
            try:
                number = hooks._warpfix[key]
            except (AttributeError, KeyError):
                number = probe.signature(self.module_exec, self.kernel, hooks, key, "recorded", *key[:4])
            append(number)
        except Exception as error:
            probe.log.fault("recorded launch", error)
        return run(self, *args, **kwargs)

    command.launch = launch

    replay = getattr(context, "capture_launch", None)
    if replay is not None:

        @functools.wraps(replay)
        def capture_launch(*args, **kwargs):
            # type: (object, object) -> object
            try:
                graph = args[0] if args else kwargs.get("graph")
                device = getattr(graph, "device", None)
                append(probe.capture_signature(str(device) if device is not None else ""))
            except Exception as error:
                probe.log.fault("capture_launch", error)
            return replay(*args, **kwargs)

        context.capture_launch = capture_launch


def canonical(dim):
    # type: (object) -> list[int]
    """A launch dimension as a list of ints."""
    try:
        return [int(dim)]
    except TypeError:
        return [int(part) for part in dim]


def dtypes(context, kernel):
    # type: (object, object) -> list[str]
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
    # type: (object) -> object
    """Warp's types module, wherever this version keeps it."""
    return sys.modules[context.__name__.rsplit(".", 1)[0] + ".types"]


class Signatures:
    """Interned launch signatures: each is logged once."""

    def __init__(self, probe):
        # type: (object) -> None
        self.probe = probe
        self.next = 0
        self.tables = []  # type: list[object]
        self.captures = {}  # type: dict[str, int]

    def add(self, **fields):
        # type: (object) -> int
        """Log a new signature and return its id."""
        number = self.next
        self.next += 1
        line = frames.user_line(2)
        self.probe.log.event("sig", id=number, line=line, **fields)
        return number

    def of(self, module_exec, kernel, hooks, key, kind, dim, block_dim, max_blocks, adjoint):
        # type: (object, object, object, object, str, object, object, int, bool) -> int
        """The id of a launch's signature, remembered on the entry points so that no id is taken for another's."""
        table = getattr(hooks, "_warpfix", None)
        if table is None:
            table = hooks._warpfix = {}
            self.tables.append(table)
        number = table.get(key)
        if number is None:
            load = getattr(module_exec, "_warpfix_load", None) or {}
            device = getattr(module_exec, "device", None)
            effective = load.get("block_dim", block_dim)
            number = self.add(
                kernel=kernels.describe(kernel),
                overload=kernel.sig,
                module=kernel.module.name,
                load=load.get("id", -1),
                dim=canonical(dim),
                dtypes=dtypes(self.probe.context, kernel),
                device=str(device),
                block_dim=effective if effective is not None else 0,
                max_blocks=int(max_blocks),
                adjoint=bool(adjoint),
                kind=kind,
            )
            table[key] = number
        return number

    def capture(self, device):
        # type: (str) -> int
        """The id for replaying a captured graph on a device."""
        number = self.captures.get(device)
        if number is None:
            number = self.captures[device] = self.add(
                kernel=None,
                overload="",
                module="",
                load=-1,
                dim=[],
                dtypes=[],
                device=device,
                block_dim=0,
                max_blocks=0,
                adjoint=False,
                kind="capture_launch",
            )
        return number

    def forget(self):
        # type: () -> None
        """In a forked child: signatures must be logged again, in the child's own log."""
        for table in self.tables:
            table.clear()
        self.captures.clear()
        self.next = 0
