"""Digests of the arrays that each launch was given, taken when it has run: on demand, because it reads them all.

Which of its arrays a kernel writes is known to Warp only while it generates the kernel's code, and not of a kernel that
comes from the cache; so all are digested, what a launch only read among them. Taken are arrays in arguments, in structs
and under indexed arrays, and gradients for adjoint launches. Pointers and handles are left out: arrays in the elements
of other arrays, and 64-bit integers that look like an address. Not seen is what a kernel reaches through an id (points
of a mesh, a volume, a hash grid) before some launch is given that array.

File (``<log>.data``): a stream of uint32. Of each launch its signature, then for each of its arrays 32 bits of its
digest; their number follows from the signature ("data-names" in the log). Beyond a limit only checkpoints:
``CHECKPOINT``, then part of the running digest, once for so many launches. The running digest itself is of 128 bits.
"""

import array
import ctypes
import functools
import hashlib
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

LIMIT = 1000000
"""Words of the stream; then checkpoints, at most as many again."""
CHECKPOINT = 0xFFFFFFFF
EVERY = 1024
"""Launches between two checkpoints."""
FILL = 0
"""The byte that new arrays are filled with: what a program reads before it writes is then equal in all runs."""
SAMPLE = 4 << 20
"""Bytes of each array that are kept of the launch that is looked at."""
_CHUNK = 16 << 20
_FLUSH = 1 << 14
_MOST_ON_DEVICE = 1 << 30
# Addresses in user space, on all systems that Warp runs on: above 1 TiB, below 2^47.
_LOWEST, _HIGHEST = 1 << 40, 1 << 47


class _Thread(threading.local):
    signature = -1
    busy = False


class Data:
    """Takes digests after launches; one for each process."""

    def __init__(self, log, config):
        # type: (Any, dict[str, Any]) -> None
        self.log = log
        # An emulated device's memory is the host's.
        self.emulated = bool(config.get("target"))
        self.watch = config.get("data_watch")
        self.thread = _Thread()
        self.context = None  # type: Any
        self.types = None  # type: Any
        self.numpy = None  # type: Any
        self.reset()

    def reset(self):
        # type: () -> None
        """Start over: at the beginning and in a forked child."""
        self.lock = threading.Lock()
        self.total = 0
        self.words = 0
        self.stream = array.array("I")
        self.running = hashlib.sha256()
        self.left_out = {}  # type: dict[str, int]
        self.named = {}  # type: dict[int, int]
        self.layouts = {}  # type: dict[int, Any]

    def leave_out(self, why):
        # type: (str) -> None
        """Count something that is not digested."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def ran(self, kernel, params, adjoint, device, stream=None):
        # type: (Any, Any, bool, Any, Any) -> None
        """A launch has run; on a device with memory of its own it may still be running."""
        thread = self.thread
        if thread.busy:
            return
        thread.busy = True
        try:
            if self._capturing(device, stream):
                self.leave_out("launches inside a graph capture")
                return
            found = self._found(kernel, params, adjoint)
            host = self.emulated or getattr(device, "is_cpu", True)
            with self.lock:
                self._take(thread.signature, found, host, device)
        except Exception as error:
            self.log.fault("data", error)
        finally:
            thread.busy = False

    def _capturing(self, device, stream=None):
        # type: (Any, Any) -> bool
        """Whether a graph is being captured: by Warp, or by others (PyTorch, say) on the stream that Warp uses. Waiting
        for the device then, or writing to its memory, would end the capture."""
        runtime = self.context.runtime
        if getattr(runtime, "captures", None) or getattr(runtime, "_apic_capture", None) is not None:
            return True
        if self.emulated or getattr(device, "is_cpu", True):
            return False
        return any(getattr(one, "is_capturing", False) for one in (stream, device.stream))

    def _take(self, signature, found, host, device):
        # type: (int, list[tuple[str, Any, Any]], bool, Any) -> None
        if signature not in self.named:
            self.named[signature] = len(found)
            self.log.event("data-names", sig=signature, names=[name for name, _, _ in found])
        words = [signature]
        for number, (name, where, dtype) in enumerate(found):
            hasher = hashlib.sha256()
            watched = self.watch == self.total
            sample = bytearray() if watched else None
            self._digest(where, dtype, host, device, hasher, sample)
            digest = hasher.digest()
            words.append(int.from_bytes(digest[:4], "little"))
            self.running.update(digest)
            if sample is not None:
                self._keep(signature, number, name, dtype, sample)
        self.total += 1
        if self.words < LIMIT:
            self.words += len(words)
            self.stream.extend(words)
        elif self.total % EVERY == 0 and self.words < 2 * LIMIT:
            self.words += 2
            self.stream.extend((CHECKPOINT, int.from_bytes(self.running.digest()[:4], "little")))
        if len(self.stream) >= _FLUSH:
            self._write()

    def _write(self):
        # type: () -> None
        stream, self.stream = self.stream, array.array("I")
        if stream:
            with open(self.log.path[: -len(".jsonl")] + ".data", "ab") as file:
                file.write(stream.tobytes())

    def flush(self):
        # type: () -> None
        """Write what is still in memory: at the end of the process."""
        with self.lock:
            self._write()
            if self.context is not None:
                digest = self.running.hexdigest()[:32]
                self.log.event("data", launches=self.total, digest=digest, left_out=self.left_out)

    # What there is to digest.

    def _found(self, kernel, params, adjoint):
        # type: (Any, Any, bool) -> list[tuple[str, Any, Any]]
        """(name, descriptor, dtype) of each array of a launch."""
        arguments = kernel.adj.args
        found = []  # type: list[tuple[str, Any, Any]]
        for number, argument in enumerate(arguments, 1):
            self._arrays(argument.label, argument.type, params[number], False, found)
            if adjoint:
                self._arrays("gradient of " + argument.label, argument.type, params[number], True, found)
        if adjoint:
            for number, argument in enumerate(arguments, 1 + len(arguments)):
                if number < len(params):
                    self._arrays("adjoint of " + argument.label, argument.type, params[number], False, found)
        return found

    def _arrays(self, name, kind, value, gradient, found):
        # type: (str, Any, Any, bool, list[tuple[str, Any, Any]]) -> None
        if type(value).__name__ == "indexedarray_t":
            value = value.data
        if type(value).__name__ == "array_t":
            found.append((name, _Gradient(value) if gradient else value, kind.dtype))
        elif type(value).__name__ in ("fabricarray_t", "indexedfabricarray_t"):
            self.leave_out("Fabric arrays")
        elif _is_struct(kind):
            for label, field in kind.vars.items():
                inner = getattr(value, label, None)
                if isinstance(inner, ctypes.Structure):
                    self._arrays("%s.%s" % (name, label), field.type, inner, gradient, found)

    def _layout(self, dtype):
        # type: (Any) -> tuple[int, list[tuple[int, int, bool]]]
        """Size of an element, and its parts that count: (offset, size, whether addresses are to be left out)."""
        layout = self.layouts.get(id(dtype))
        if layout is None:
            parts = []  # type: list[tuple[int, int, bool]]
            if _is_struct(dtype):
                _fields(dtype, 0, parts)
                size = ctypes.sizeof(dtype.ctype)
            else:
                size = self.types.type_size_in_bytes(dtype)
                parts.append((0, size, _scalar(dtype) == "uint64"))
            # The type itself is kept: its id is not used again, then.
            layout = self.layouts[id(dtype)] = (size, parts, dtype)
        return layout[0], layout[1]

    def _digest(self, where, dtype, host, device, hasher, sample):
        # type: (Any, Any, bool, Any, Any, Any) -> None
        dimensions = max(0, int(where.ndim))
        shape = tuple(where.shape[:dimensions])
        hasher.update(repr(shape).encode())
        if not where.data or not all(shape):
            hasher.update(b"empty" if where.data else b"none")
            return
        strides = tuple(where.strides[:dimensions])
        size, parts = self._layout(dtype)
        span = sum((count - 1) * stride for count, stride in zip(shape, strides)) + size
        if host:
            memory = (ctypes.c_char * span).from_address(where.data)  # type: Any
        elif span > _MOST_ON_DEVICE:
            self.leave_out("arrays on the device that span more than 1 GiB")
            return
        else:
            memory = self._copied(where.data, span, device)
        dense = _dense(shape, strides, size)
        for offset, length, masked in parts:
            if dense and length == size and not masked:
                view = memoryview(memory).cast("B")
                for start in range(0, span, _CHUNK):
                    _add(view[start : start + _CHUNK], hasher, sample)
                continue
            whole = self.numpy.ndarray(
                shape + (length,), dtype="u1", buffer=memory, offset=offset, strides=strides + (1,)
            )
            for piece in _pieces(whole):
                values = self.numpy.ascontiguousarray(piece)
                if masked:
                    words = values.reshape(-1).view("<u8")
                    values = self.numpy.where((words >= _LOWEST) & (words < _HIGHEST), 0, words)
                _add(memoryview(values.reshape(-1).view("u1")), hasher, sample)

    def _copied(self, address, span, device):
        # type: (int, int, Any) -> Any
        """Bytes of a device's memory; waits until the device has done what was asked of it."""
        sys.modules["warp"].synchronize_device(device)
        warp_array = self.types.array
        there = warp_array(ptr=address, dtype=self.types.uint8, shape=(span,), device=device)
        return bytearray(there.numpy().tobytes())

    def _keep(self, signature, number, name, dtype, sample):
        # type: (int, int, str, Any, bytearray) -> None
        """Keep the beginning of an array of the launch that is looked at."""
        file_name = "%s.%d.array" % (self.log.path[: -len(".jsonl")], number)
        with open(file_name, "wb") as file:
            file.write(bytes(sample[:SAMPLE]))
        scalar = "" if _is_struct(dtype) else _scalar(dtype)
        self.log.event("data-sample", sig=signature, name=name, scalar=scalar, file=file_name, bytes=len(sample))


class _Gradient:
    """The gradient that an array's descriptor names, as a descriptor."""

    def __init__(self, descriptor):
        # type: (Any) -> None
        self.data = descriptor.grad
        self.ndim = descriptor.ndim
        self.shape = descriptor.shape
        self.strides = descriptor.strides


def _add(view, hasher, sample):
    # type: (Any, Any, Any) -> None
    hasher.update(view)
    if sample is not None:
        # One byte more than is kept says that there was more.
        sample += view[: max(0, SAMPLE + 1 - len(sample))]


def _dense(shape, strides, size):
    # type: (tuple[int, ...], tuple[int, ...], int) -> bool
    expected = size
    for count, stride in zip(reversed(shape), reversed(strides)):
        if count > 1 and stride != expected:
            return False
        expected *= count
    return True


def _pieces(whole):
    # type: (Any) -> Any
    """Parts of an array, in order, none of them larger than a chunk once it is copied."""
    if whole.size <= _CHUNK or whole.ndim < 2:
        yield whole
        return
    step = max(1, int(_CHUNK // max(1, whole[:1].size)))
    for start in range(0, whole.shape[0], step):
        part = whole[start : start + step]
        if len(part) == 1 and part.size > _CHUNK:
            yield from _pieces(part[0])
        else:
            yield part


def _fields(struct, base, parts):
    # type: (Any, int, list[tuple[int, int, bool]]) -> None
    """The parts of a struct without padding and without what holds pointers."""
    kinds = {field[0]: field[1] for field in struct.ctype._fields_}
    for label, field in struct.vars.items():
        place = getattr(struct.ctype, label)
        kind = kinds[label]
        if _is_struct(field.type):
            _fields(field.type, base + place.offset, parts)
        elif not issubclass(kind, ctypes.Structure):
            parts.append((base + place.offset, ctypes.sizeof(kind), _scalar(field.type) == "uint64"))


def _is_struct(kind):
    # type: (Any) -> bool
    # By name: an array's annotation is an array without memory, and of those not every attribute can be asked for.
    return type(kind).__name__ == "Struct"


def _scalar(dtype):
    # type: (Any) -> str
    """Warp's name of the scalar that a type is made of."""
    scalar = getattr(dtype, "_wp_scalar_type_", dtype)
    name = getattr(scalar, "__name__", str(scalar))
    return {"float": "float32", "int": "int32"}.get(name, name)


def install(context, probe):
    # type: (Any, Any) -> None
    """Hook the places that every launch passes, and where arrays are made.

    To be called before launches are hooked: those hooks run first, look at their caller's frame, and say which launch
    this is.
    """
    data = probe.data
    if data is None:
        return
    data.context = context
    data.types = sys.modules[context.__name__.rsplit(".", 1)[0] + ".types"]
    data.numpy = sys.modules["numpy"]
    _follow_signatures(probe.sequence, data.thread)
    below = [name for name in ("invoke", "invoke_cpu_blocks") if hasattr(context, name)]
    for name in below:
        _hook_invoke(context, name, data)
    _hook_entry_points(context, data, bool(below))
    _hook_replay(context, data)
    _hook_new_arrays(data)


def _follow_signatures(sequence, thread):
    # type: (Any, _Thread) -> None
    """Know the signature of the launch that runs: it was recorded just before, by the same thread."""
    make = sequence._appender

    def appender():
        # type: () -> Any
        inner = make()

        def append(signature):
            # type: (int) -> None
            thread.signature = signature
            inner(signature)

        return append

    sequence._appender = appender


def _hook_invoke(context, name, data):
    # type: (Any, str, Data) -> None
    original = getattr(context, name)

    @functools.wraps(original)
    def invoke(kernel, hooks, params, adjoint):
        # type: (Any, Any, Any, bool) -> Any
        result = original(kernel, hooks, params, adjoint)
        data.ran(kernel, params, adjoint, None)
        return result

    setattr(context, name, invoke)


def _hook_entry_points(context, data, cpu_elsewhere):
    # type: (Any, Data, bool) -> None
    """On the CPU of older Warp the entry points themselves are wrapped, when a launch gets them; for CUDA the one
    function of the native library that launches, once a module is loaded there."""
    module_exec = context.ModuleExec
    init = module_exec.__init__

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        init(self, *args, **kwargs)
        try:
            if not getattr(self.device, "is_cpu", True):
                _hook_native(context.runtime.core, data)
        except Exception as error:
            data.log.fault("data", error)

    module_exec.__init__ = __init__
    if cpu_elsewhere:
        return
    original = module_exec.get_kernel_hooks

    @functools.wraps(original)
    def get_kernel_hooks(self, kernel):
        # type: (Any, Any) -> Any
        hooks = original(self, kernel)
        try:
            if self.device.is_cpu and not hasattr(hooks, "_warpfix_data"):
                hooks._warpfix_data = True
                for part in ("forward", "backward"):
                    entry = getattr(hooks, part, None)
                    if entry is not None:
                        setattr(hooks, part, _entry(entry, kernel, part == "backward", data))
        except Exception as error:
            data.log.fault("data", error)
        return hooks

    module_exec.get_kernel_hooks = get_kernel_hooks


def _entry(original, kernel, adjoint, data):
    # type: (Any, Any, bool, Data) -> Any
    def run(*params):
        # type: (Any) -> Any
        result = original(*params)
        data.ran(kernel, params, adjoint, None)
        return result

    return run


def _hook_native(core, data):
    # type: (Any, Data) -> None
    for name in ("wp_cuda_launch_kernel", "cuda_launch_kernel"):
        original = getattr(core, name, None)
        if original is None or hasattr(original, "_warpfix_data"):
            continue

        def launch_kernel(*args, _original=original):
            # type: (Any, Any) -> Any
            result = _original(*args)
            try:
                frame = sys._getframe(1)  # type: Any
                while frame is not None and "params" not in frame.f_locals and "self" not in frame.f_locals:
                    frame = frame.f_back
                values = frame.f_locals if frame is not None else {}
                source = values.get("self")  # type: Any
                if "params" in values:
                    given = (values["kernel"], values["params"], values.get("adjoint", False), values["device"])
                else:
                    given = (source.kernel, source.params, source.adjoint, source.device)
                data.ran(*given, stream=values.get("stream"))
            except Exception as error:
                data.log.fault("data", error)
            return result

        launch_kernel._warpfix_data = True  # type: ignore[attr-defined]
        setattr(core, name, launch_kernel)


def _hook_replay(context, data):
    # type: (Any, Data) -> None
    original = getattr(context, "capture_launch", None)
    if original is None:
        return

    @functools.wraps(original)
    def capture_launch(*args, **kwargs):
        # type: (Any, Any) -> Any
        data.leave_out("replays of captured graphs")
        return original(*args, **kwargs)

    context.capture_launch = capture_launch


def _hook_new_arrays(data):
    # type: (Data) -> None
    """``array._init_new`` makes every array that Warp allocates; what is in it then is chance."""
    original = getattr(data.types.array, "_init_new", None)
    if original is None:
        data.leave_out("new arrays could not be filled")
        return

    @functools.wraps(original)
    def _init_new(self, *args, **kwargs):
        # type: (Any, Any, Any) -> Any
        result = original(self, *args, **kwargs)
        try:
            if self.ptr and self.capacity and not data.thread.busy and not data._capturing(self.device):
                if data.emulated or self.device.is_cpu:
                    ctypes.memset(self.ptr, FILL, self.capacity)
                else:
                    self.device.memset(self.ptr, FILL, self.capacity)
        except Exception as error:
            data.log.fault("data", error)
        return result

    data.types.array._init_new = _init_new
