"""The CPU twin of a CUDA module: the CPU build of the same kernels, which executes what the device would.

It is none of the program's modules: Warp's tables of hashes and executables don't know it, and a CPU launch of the
program builds what it would build without it. No kernel object is kept: the live ones are what Warp hashes.
"""

import contextlib
import ctypes
import hashlib
import inspect
import itertools
import json
import os
import re
import shutil
import sys
import threading
import time
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_BLOCKS = re.compile(
    r"^(?!#).*\b(?:adj_)?(?:tile(?!_shared_storage|_alloc_shared)\w*|untile|builtin_block_dim)\s*[(<]", re.M
)
"""Calls in generated code that need all threads of a block at once."""
_DEVICE_CODE = re.compile(r"\b(?:__CUDA_ARCH__|__CUDACC__|threadIdx|blockIdx|__syncthreads)\b")
_CUDA_ALONE = re.compile(
    r"\b(?:(?:thread|block)Idx|(?:block|grid)Dim|warpSize|__(?:sync|shfl|ballot|any|all|activemask|reduce|match|thread"
    r"fence|nanosleep|ld[gc]|clz|ffs|popc|brev)\w*|__shared__|clock(?:64)?|globaltimer|atomic[A-Z]\w*|asm|cooperative_groups)\b"
)
"""What a native snippet may call on CUDA alone."""
_MATHDX = {
    "enable_mathdx_gemm": re.compile(r"\btile_matmul\b"),
    "enable_mathdx_fft": re.compile(r"\btile_i?fft\b"),
    "enable_mathdx_solver": re.compile(r"\btile_(?:cholesky|lower_solve|upper_solve)"),
}
"""The options by which MathDx computes on CUDA what the CPU computes by Warp's own code."""
_BY_VALUE = re.compile(r"\blaunch_bounds_t\S* dim,")
_HASHED = re.compile(r"_[0-9a-f]{8}$")
MOST_THREADS = 1024
"""Of a block, on every architecture."""
_SILENT = 40
"""A log level above all messages."""


class Layout:
    """How a kernel is called: sizes and offsets of its arguments in the structure that its CPU entry takes."""

    def __init__(self, bounds, by_value, types, threads):
        # type: (Any, bool, Any, int) -> None
        self.bounds = bounds
        self.by_value = by_value
        self.threads = threads
        structure = type("Arguments", (ctypes.Structure,), {"_fields_": [("a%d" % i, t) for i, t in enumerate(types)]})
        self.size = ctypes.sizeof(structure)
        self.places = [
            (getattr(structure, "a%d" % index).offset, ctypes.sizeof(kind)) for index, kind in enumerate(types)
        ]


class Code:
    """One executable entry point of a twin, or the reason why there is none."""

    __slots__ = ("backward", "cooperative", "function", "kinds", "layout", "twin")

    def __init__(self, twin, function, layout, backward, kinds):
        # type: (Any, Any, Any, bool, Any) -> None
        self.twin = twin
        self.function = function
        self.layout = layout
        self.backward = backward
        self.kinds = kinds
        self.cooperative = twin.block_dim > 1

    def pack(self, values):
        # type: (Any) -> Any
        """The CPU entry's arguments out of a launch's pointers: bounds, then forward, then adjoint values."""
        places = self.layout.places
        packed = []
        position = 1
        for _ in range(2 if self.backward else 1):
            buffer = ctypes.create_string_buffer(self.layout.size or 1)
            start = ctypes.addressof(buffer)
            for offset, size in places:
                ctypes.memmove(start + offset, values[position], size)
                position += 1
            packed.append(buffer)
        return packed

    def run(self, values, real):
        # type: (Any, Any) -> str
        """Execute a launch; the error's text, or nothing."""
        bounds = values[0]
        if self.layout.by_value:
            bounds = self.layout.bounds.from_address(bounds)
        return self.call(bounds, self.pack(values), real)

    def call(self, bounds, packed, real):
        # type: (Any, Any, Any) -> str
        if not self.cooperative:
            self.function(bounds, *packed)
            return ""
        real.wp_take_cpu_block_error()
        self.function(bounds, *packed)
        error = real.wp_take_cpu_block_error()
        return error.decode("utf-8", "replace") if error else ""

    def bind(self, values, driver):
        # type: (Any, Any) -> Any
        """A launch that a graph repeats: with copies of its arguments as they are now."""
        kind = self.layout.bounds
        bounds = kind.from_buffer_copy(ctypes.string_at(values[0], ctypes.sizeof(kind)))
        if not self.layout.by_value:
            bounds = ctypes.pointer(bounds)
        packed = self.pack(values)

        def again():
            # type: () -> None
            error = self.call(bounds, packed, driver.real)
            if error:
                raise RuntimeError(error)

        return again


class Ordered:
    """A module's hasher as its builder takes it, with the kernels in the order of their keys: Warp's own order is that
    of hashes, which also depend on the block_dim."""

    def __init__(self, hasher):
        # type: (Any) -> None
        pairs = sorted(hasher.unique_kernels.items(), key=lambda pair: str(pair[1].key))
        self.unique_kernels = dict(pairs)

    def without(self, kernels):
        # type: (Any) -> Any
        """The same but for some kernels."""
        found = Ordered(self)
        for kernel_hash in kernels:
            del found.unique_kernels[kernel_hash]
        return found

    def get_unique_kernels(self):
        # type: () -> Any
        """As of the hasher."""
        return self.unique_kernels.values()


class Linked:
    """A CPU object in memory; twins with equal code share it."""

    def __init__(self, llvm, handle):
        # type: (Any, str) -> None
        self.llvm = llvm
        self.handle = handle.encode("utf-8")

    def __del__(self):
        # type: () -> None
        with contextlib.suppress(Exception):
            self.llvm.wp_unload_obj(self.handle)


class Twin:
    """The twin of one loaded CUDA module, built when the first of its kernels is launched."""

    def __init__(self, twins, name, module_hash):
        # type: (Twins, str, str) -> None
        self.twins = twins
        self.name = name
        self.hash = module_hash
        self.block_dim = 1
        self.layouts = {}  # type: dict[str, Layout]
        self.object = ""
        self.rest = ""
        self.symbols = {}  # type: dict[str, str]
        self.arguments = {}  # type: dict[str, Any]
        self.prepared = 0.0
        self.error = ""
        self.kinds = ()  # type: tuple[str, ...]
        self.linked = None  # type: Any
        self.ready = False

    def code(self, name, part):
        # type: (str, str) -> Code
        """The entry point of a kernel; builds the twin where that is still to do."""
        with self.twins.lock:
            if not self.ready:
                self.ready = True
                self.twins.build(self)
        layout = self.layouts.get(name)
        backward = part == "backward"
        if self.error or layout is None:
            return Code(self, None, layout, backward, self.kinds or ("not-executed",))
        symbol = "%s_cpu_%s" % (self.symbols.get(name, name), part)
        address = self.twins.llvm.wp_lookup(self.linked.handle, symbol.encode("utf-8"))
        if not address:
            return Code(self, None, layout, backward, ("not-executed",))
        first = layout.bounds if layout.by_value else ctypes.c_void_p
        kind = ctypes.CFUNCTYPE(None, first, *[ctypes.c_void_p] * (2 if backward else 1))
        return Code(self, kind(address), layout, backward, self.kinds)


class Twins:
    """Makes twins. ``folder`` is theirs alone, below the private caches."""

    def __init__(self, folder, context, codegen, build_cpu, config, log):
        # type: (str, Any, Any, Any, Any, Any) -> None
        self.folder = folder
        self.context = context
        self.codegen = codegen
        self.build_cpu = build_cpu
        self.config = config
        self.log = log
        self.lock = threading.RLock()
        self.numbers = itertools.count()
        self.built = 0
        self.linked = weakref.WeakValueDictionary()  # type: Any
        self.blocks = hasattr(config, "enable_cpu_blocks")
        # The entry points of older versions take the launch's bounds themselves.
        entry = getattr(codegen, "cpu_module_entry_template_forward", codegen.cpu_module_template_forward)
        self.by_value = _BY_VALUE.search(entry) is not None

    @property
    def headers(self):
        # type: () -> str
        """The precompiled headers of this process, which may be a forked one."""
        return os.path.join(self.folder, "headers-%d" % os.getpid())

    @property
    def llvm(self):
        # type: () -> Any
        """Warp's library that compiles and links for the CPU."""
        return self.context.runtime.llvm

    def prepare(self, module, module_exec):
        # type: (Any, Any) -> Twin
        """Take from a module that was just loaded all that its twin needs; the module may change at any time."""
        # Before 1.13 a load sets the module's own block_dim and keeps no resolved copy of the options.
        block_dim = getattr(module_exec, "block_dim", module.options["block_dim"])
        hasher = Ordered(module.hashers[block_dim])
        options = dict(module.__dict__.get("resolved_options", {}).get(block_dim) or module.options)
        identity = bytes(module_exec.module_hash).hex()
        twin = Twin(self, module.name, identity)
        start = time.perf_counter()
        try:
            twin.layouts = self._layouts(hasher)
            key = _digest([identity, str(block_dim), str(self.config.version), *sorted(twin.layouts)])
            about = self._remembered(key) or self._generate(module, hasher, options, block_dim, key, twin)
            twin.block_dim = about["block_dim"]
            twin.object = os.path.join(self.folder, about["object"])
            twin.rest = about["rest"] and os.path.join(self.folder, about["rest"])
            twin.symbols = about["symbols"]
            kinds = list(about["kinds"])
            if getattr(options.get("deterministic"), "name", "NOT_GUARANTEED") != "NOT_GUARANTEED":
                kinds.append("deterministic")
            if options.get("fast_math"):
                kinds.append("fast-math")
            twin.kinds = tuple(kinds)
            if "no-blocks" in kinds:
                twin.error = "it uses tiles"
        except Exception as error:
            twin.error = "%s: %s" % (type(error).__name__, error)
            twin.kinds = ("not-executed",)
        twin.arguments = self._arguments(options, twin.block_dim)
        twin.prepared = time.perf_counter() - start
        return twin

    def _layouts(self, hasher):
        # type: (Any) -> dict[str, Layout]
        types = sys.modules[self.context.__name__.rsplit(".", 1)[0] + ".types"]  # type: Any
        classes = getattr(types, "_launch_bounds_classes", None)
        layouts = {}
        for kernel_hash, kernel in hasher.unique_kernels.items():
            name = self._mangled(kernel, kernel_hash)
            bounds = classes[kernel.adj.kernel_dim or 1] if classes else types.launch_bounds_t
            given = [self._ctype(types, one.type) for one in kernel.adj.args]
            layouts[name] = Layout(bounds, self.by_value, given, self._threads(kernel))
        return layouts

    @staticmethod
    def _threads(kernel):
        # type: (Any) -> int
        """The most threads that a block of this kernel may have: the first of its launch bounds."""
        bounds = kernel.options.get("launch_bounds")
        if isinstance(bounds, (list, tuple)):
            bounds = bounds[0] if bounds else None
        return int(bounds) if bounds else MOST_THREADS

    @staticmethod
    def _mangled(kernel, kernel_hash):
        # type: (Any, bytes) -> str
        """The kernel's name in generated code."""
        if "kernel_hash" in inspect.signature(kernel.get_mangled_name).parameters:
            return str(kernel.get_mangled_name(kernel_hash=kernel_hash))
        return str(kernel.get_mangled_name())

    def _ctype(self, types, kind):
        # type: (Any, Any) -> Any
        """The ctypes class in which Warp passes an argument of a type."""
        if types.is_array(kind):
            return type(kind.__ctype__())
        if isinstance(kind, self.codegen.Struct):
            return kind.ctype
        if isinstance(kind, type) and issubclass(kind, (ctypes.Array, ctypes.Structure)):
            return kind
        scalar = getattr(kind, "_type_", None)
        if scalar is not None:
            return scalar
        # Textures are classes of their own beside the structures that are passed for them.
        return getattr(self.context, kind.__name__.lower() + "_t")

    def _remembered(self, key):
        # type: (str) -> Any
        """What is known of a twin from an earlier run over the same caches."""
        try:
            with open(os.path.join(self.folder, key + ".json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def _generate(self, module, hasher, options, block_dim, key, twin):
        # type: (Any, Any, dict[str, Any], int, str, Twin) -> dict[str, Any]
        """Write the twin's source; what is known of it."""
        lock = getattr(self.codegen, "_codegen_lock", self.lock)
        kinds = []  # type: list[str]
        with lock:
            source = self._source(module, hasher, options, 1)
            cooperative = _BLOCKS.search(source) is not None and block_dim > 1
            effective = block_dim if cooperative and self.blocks else 1
            if effective > 1:
                source = self._source(module, hasher, options, block_dim)
            elif cooperative:
                kinds.append("no-blocks")
            left = _native(hasher)
            rest = ""
            if 0 < len(left) < len(hasher.unique_kernels):
                rest = self._source(module, hasher.without(left), options, effective)
        if _DEVICE_CODE.search(source):
            kinds.append("device-code")
        if any(options.get(name) is not False and calls.search(source) for name, calls in _MATHDX.items()):
            kinds.append("mathdx")
        about = {"block_dim": effective, "kinds": kinds, "rest": ""}  # type: dict[str, Any]
        arguments = self._arguments(options, effective)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        for part, content in (("object", source), ("rest", rest)):
            if content:
                content, about["symbols"] = _renamed(content, twin.layouts)
                text = about[part] = _digest([content, repr(sorted(arguments.items()))])
                _write(os.path.join(self.folder, text + ".cpp"), content)
        _write(os.path.join(self.folder, key + ".json"), json.dumps(about))
        return about

    def _source(self, module, hasher, options, block_dim):
        # type: (Any, Any, dict[str, Any], int) -> str
        given = dict(options, output_arch=None, block_dim=block_dim)
        builder = self.context.ModuleBuilder
        extra = {"target": "cpu"} if "target" in inspect.signature(builder.__init__).parameters else {}
        # Past the class of the module, which tells of the program's own writes.
        settings = vars(self.config)
        level = settings.get("log_level")
        if level is not None:
            settings["log_level"] = _SILENT
        try:
            return str(builder(module, given, hasher=hasher, **extra).codegen("cpu"))
        finally:
            if level is not None:
                settings["log_level"] = level

    def _arguments(self, options, block_dim):
        # type: (dict[str, Any], int) -> dict[str, Any]
        """What Warp would give its CPU compiler for these options."""
        level = options.get("optimization_level")
        values = {
            "mode": options.get("mode") or "release",
            "fast_math": options.get("fast_math", False),
            "verify_fp": options.get("verify_fp", False),
            "fuse_fp": options.get("fuse_fp", True),
            "extra_flags": options.get("cpu_compiler_flags") or "",
            "optimization_level": 2 if level is None else level,
            "use_precompiled_headers": options.get("use_precompiled_headers", False),
            "pch_dir": None,
            "block_dim": block_dim,
            "enable_tiles_in_stack_memory": options.get("enable_tiles_in_stack_memory", True),
            "extra_include_dirs": options.get("extra_cpu_include_dirs", ()),
        }
        known = inspect.signature(self.build_cpu).parameters
        return {name: value for name, value in values.items() if name in known}

    def build(self, twin):
        # type: (Twin) -> None
        """Compile and link a twin, or find its object from an earlier run. Called under the lock."""
        start = time.perf_counter()
        self.log.event("twin-start", module=twin.name)
        outcome = "cached"
        if not twin.error:
            try:
                if twin.rest and os.path.exists(twin.rest + ".o"):
                    self._fall_back(twin)
                if not os.path.exists(twin.object + ".o"):
                    outcome = "compiled"
                    try:
                        self._compile(twin)
                    except Exception:
                        if not twin.rest:
                            raise
                        self._fall_back(twin)
                        self._compile(twin)
                twin.linked = self.linked.get(twin.object) or self._link(twin.object)
            except Exception as error:
                twin.error = "%s: %s" % (type(error).__name__, error)
                twin.kinds = ("not-executed",)
        self.log.event(
            "twin",
            module=twin.name,
            hash=twin.hash,
            block_dim=twin.block_dim,
            outcome="failed" if twin.error else outcome,
            error=twin.error[:500],
            ms=round((time.perf_counter() - start + twin.prepared) * 1e3, 3),
        )

    @staticmethod
    def _fall_back(twin):
        # type: (Twin) -> None
        """Build what is left without the kernels whose native code may be CUDA's alone; those have no entry point."""
        twin.object, twin.rest = twin.rest, ""
        twin.kinds = tuple(kind for kind in twin.kinds if kind != "device-code")

    def _compile(self, twin):
        # type: (Twin) -> None
        arguments = dict(twin.arguments)
        self.built += 1
        if arguments.get("use_precompiled_headers"):
            # Two modules must share a header before it pays. The program's own CPU builds have another.
            if self.built == 1:
                arguments["use_precompiled_headers"] = False
            else:
                os.makedirs(self.headers, mode=0o700, exist_ok=True)
                arguments["pch_dir"] = self.headers
        temporary = "%s.%d.o" % (twin.object, os.getpid())
        self.build_cpu(temporary, twin.object + ".cpp", **arguments)
        os.replace(temporary, twin.object + ".o")

    def _link(self, path):
        # type: (str) -> Linked
        handle = "warpfix_twin_%d" % next(self.numbers)
        given = (path.encode("utf-8") + b".o", handle.encode("utf-8"), False)
        load = self.llvm.wp_load_obj
        if load(*given[: len(load.argtypes or given)]) != 0:
            raise RuntimeError("its object can't be linked")
        linked = self.linked[path] = Linked(self.llvm, handle)
        return linked

    def tidy(self):
        # type: () -> None
        """Remove the precompiled headers of this process."""
        shutil.rmtree(self.headers, ignore_errors=True)


def _digest(parts):
    # type: (Any) -> str
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part.encode("utf-8") + b"\0")
    return hasher.hexdigest()[:24]


def _native(hasher):
    # type: (Any) -> list[Any]
    """The kernels, by hash, that reach native code for CUDA; where no snippet looks like that, those that reach any."""
    sure, all_of_them = [], []
    for kernel_hash, kernel in hasher.unique_kernels.items():
        text = "\n".join(_snippets(kernel.adj, set()))
        if text:
            all_of_them.append(kernel_hash)
        if _CUDA_ALONE.search(text):
            sure.append(kernel_hash)
    return sure or all_of_them


def _snippets(adj, seen):
    # type: (Any, set[int]) -> Any
    """The native code that a kernel or a function reaches."""
    references = getattr(adj, "get_references", None)
    for function in references()[2] if references is not None else ():
        if id(function) in seen or function.is_builtin():
            continue
        seen.add(id(function))
        every = [function]
        for table in ("user_overloads", "user_templates"):
            every += getattr(function, table, {}).values()
        for one in every:
            for name in ("native_snippet", "adj_native_snippet", "replay_snippet"):
                yield str(getattr(one, name, None) or "")
            inner = getattr(one, "adj", None)
            if inner is not None and id(inner) not in seen:
                seen.add(id(inner))
                yield from _snippets(inner, seen)


def _renamed(source, names):
    # type: (str, Any) -> tuple[str, dict[str, str]]
    """The source with hashes left out of its kernels' names, which also depend on the block_dim, and the new names:
    modules that are built for several block dims have one twin where nothing in them depends on it."""
    symbols = {}
    for number, name in enumerate(names):
        if _HASHED.search(name):
            symbols[name] = "%s_%d" % (name[:-9], number)
            source = source.replace(name, symbols[name])
    return source, symbols


def _write(path, text):
    # type: (str, str) -> None
    """Write a file whole: another process of the program may do the same."""
    temporary = "%s.%d-%d" % (path, os.getpid(), threading.get_ident())
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
