"""Loads of Warp modules: what was built, in which phases, from which ingredients, and who waited for it."""

import functools
import hashlib
import itertools
import json
import os
import re
import sys
import threading
import time
from collections import Counter

from . import frames, kernels, machine
from .headers import Header
from .options import plain
from .phases import Aside, Phase, divide, own_time, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

_clock = time.perf_counter


def digest(*parts):
    # type: (Any) -> str
    """Short digest of text or bytes."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part if isinstance(part, bytes) else str(part).encode("utf-8", "backslashreplace"))
        hasher.update(b"\0")
    return hasher.hexdigest()[:16]


class _Hashing(threading.local):
    hasher = None  # type: Any


class Loads:
    """Numbers loads and keeps what an identical later load is compared with."""

    def __init__(self, probe):
        # type: (Any) -> None
        self.probe = probe
        self.numbers = itertools.count()
        self.threads = {}  # type: dict[int, int]
        self.preload = None  # type: Any
        self.hashing = _Hashing()
        self.known = set()  # type: set[str]
        self.kept = 0

    def forget(self):
        # type: () -> None
        """In a forked child: kernels must be described again, in the child's own log."""
        self.known = set()

    def thread(self):
        # type: () -> int
        """Small number of the current thread, in order of first use."""
        return self.threads.setdefault(threading.get_ident(), len(self.threads))

    def milliseconds(self, moment):
        # type: (float) -> float
        """A clock reading as milliseconds since the log's start."""
        return round(float(moment - self.probe.log.base) * 1e3, 3)

    def finished(self, module, device, block_dim, start, end, module_exec, error, arch=None):
        # type: (Any, Any, Any, float, float, Any, Any, Any) -> Any
        """Log one load; returns what a launch signature needs of it. ``arch`` is that of a build for no device here."""
        done = take(start)
        native = [entry for entry in done if entry[0] == "native"]
        link = [entry for entry in done if entry[0] == "link"]
        compiles = [entry for entry in done if entry[0] == "compile"]
        built = bool(native) or any(entry[4].get("compiled") for entry in compiles)
        if error is not None and not done:
            # Warp repeats the recorded error of an earlier build: nothing was tried.
            return None
        for entry in done:
            self.probe.rehashes.claim(entry[4].get("rehash"))
        self.probe.log.release()
        options = module.options
        active = block_dim if block_dim is not None else options.get("block_dim")
        if module_exec is not None:
            active = getattr(module_exec, "block_dim", active)
        hasher = module.__dict__.get("hashers", {}).get(active)
        try:
            identity = bytes(module_exec.module_hash).hex()
        except Exception:
            identity = _hash_of(hasher)
        record = {
            "id": next(self.numbers),
            "module": module.name,
            "hash": identity,
            "device": str(device) if device is not None else "",
            "target": target_of(device) if arch is None else "sm_%s" % str(arch).replace("sm_", ""),
            "block_dim": int(active or 0),
        }
        defined = {}  # type: dict[str, Any]
        self.probe.log.event(
            "load",
            outcome="failed" if error is not None else ("compiled" if built else "cached"),
            error="" if error is None else "%s: %s" % (type(error).__name__, str(error)[:500]),
            start=self.milliseconds(start),
            end=self.milliseconds(end),
            phases={key: round(value, 4) for key, value in divide(start, end, done).items()},
            probe=round(own_time(done) * 1e3, 4),
            thread=self.thread(),
            kernels=[self.refer(data, defined) for data in ingredients(hasher)],
            functions={key: self.refer(data, defined) for key, data in functions(hasher).items()},
            defined=defined,
            options=resolved(module, active, hasher, self.probe.config_module),
            source_bytes=sum(int(entry[4].get("source_bytes", 0)) for entry in native),
            code=([entry[4].get("code") for entry in native if entry[4].get("code")] + machine.take())
            or self.cached(module, active, device),
            lto=max([len(link)] + [int(entry[4].get("lto", 0)) for entry in native]),
            links=dict(Counter(str(entry[4].get("call", ""))[len("build_lto_") :] for entry in link)),
            paid=frames.user_line(3) or self.preload,
            cache=str(getattr(self.probe.config_module, "kernel_cache_dir", "")),
            disabled=not getattr(self.probe.config_module, "cache_kernels", True),
            **record,
        )
        return record

    def refer(self, data, defined):
        # type: (dict[str, Any], dict[str, Any]) -> str
        """A name for what a kernel or function puts into a hash; what the log does not hold yet goes to ``defined``: a
        module that is built again for each of its thousand kernels would else be described a thousand times."""
        name = digest(json.dumps(data, sort_keys=True, default=repr))
        if name not in self.known:
            self.known.add(name)
            defined[name] = data
        return name

    def cached(self, module, block_dim, device):
        # type: (Any, Any, Any) -> list[str]
        """A CUDA binary taken from the cache and the generated source beside it; digested before the cache goes."""
        if self.probe.config_module is None:
            return []
        root = getattr(self.probe.config_module, "kernel_cache_dir", None)
        identify = getattr(module, "get_module_identifier", None)
        if root is None or identify is None:
            return []
        try:
            folder = os.path.join(str(root), identify(block_dim))
        except TypeError:
            folder = os.path.join(str(root), identify())
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        sources = [name for name in names if name.endswith((".cpp", ".cu"))]
        names = sources + ([] if target_of(device) == "cpu" else machine.of_device(names, device))
        return [os.path.join(folder, name) for name in names]


def target_of(device):
    # type: (Any) -> str
    """``cpu`` or ``sm_NN``."""
    if device is None or getattr(device, "is_cpu", False) or str(device) == "cpu":
        return "cpu"
    return "sm_%s" % getattr(device, "arch", "")


def _hash_of(hasher):
    # type: (Any) -> str
    for name in ("hash", "module_hash"):
        value = getattr(hasher, name, None)
        if isinstance(value, bytes):
            return value.hex()
    return ""


def resolved(module, block_dim, hasher, config):
    # type: (Any, Any, Any, Any) -> dict[str, Any]
    """The options that Warp hashed for this variant; where it keeps no resolved copy, resolved as it would."""
    found = getattr(hasher, "_warpfix_options", None)
    if found is None:
        found = module.__dict__.get("resolved_options", {}).get(block_dim)
    if found is None:
        found = dict(module.options)
        for name in ("mode", "optimization_level", "enable_mathdx_gemm"):
            if found.get(name, 0) is None:
                found[name] = getattr(config, name, None)
        for name in ("verify_fp", "line_directives", "mode"):
            if found.get(name) is None and hasattr(config, name):
                found[name] = getattr(config, name)
    return {str(key): plain(value) for key, value in found.items()}


def ingredients(hasher):
    # type: (Any) -> list[dict[str, Any]]
    """What each kernel put into the module's hash."""
    result = []
    notes = getattr(hasher, "_warpfix_notes", {})
    functions = {}
    for func, value in getattr(hasher, "function_hashes", {}).items():
        functions[func.key] = value.hex()[:16] if isinstance(value, bytes) else str(value)
    for value, kernel in getattr(hasher, "unique_kernels", {}).items():
        adj = kernel.adj
        note = notes.get(id(adj), {})
        data = kernels.describe(kernel)
        data.update(
            sig=kernel.sig,
            hash=value.hex()[:16],
            source=digest(getattr(adj, "source", "") or ""),
            args=digest(*["%s:%r" % (name, kind) for name, kind in adj.arg_types.items()]),
            arguments={str(name): type_words(kind) for name, kind in adj.arg_types.items()},
            constants=note.get("constants", {}),
            values=note.get("values", {}),
            loops=loops(adj),
            functions={name: functions.get(name, "") for name in note.get("functions", [])},
            types=note.get("types", {}),
            made=getattr(kernel, "_warpfix_made", None),
            generated=data["path"].startswith("<") or frames.is_internal(data["path"]),
            options={str(key): plain(item) for key, item in kernel.options.items()},
        )
        result.append(data)
    return result


def functions(hasher):
    # type: (Any) -> dict[str, dict[str, Any]]
    """What each function that the kernels reach put into the module's hash, by the function's key."""
    notes = getattr(hasher, "_warpfix_notes", {})
    result = {}  # type: dict[str, dict[str, Any]]
    for func, value in getattr(hasher, "function_hashes", {}).items():
        data = {"hash": str(value), "loops": 0}  # type: dict[str, Any]
        if isinstance(value, bytes):
            data["hash"] = value.hex()[:16]
        data.update(constants={}, values={}, types={}, functions=[])
        data["path"], data["line"] = kernels.definition(getattr(func, "func", None), _source(func))
        texts = []
        for name in ("native_snippet", "adj_native_snippet", "replay_snippet"):
            texts.append(str(getattr(func, name, "") or ""))
        every = dict(getattr(func, "user_overloads", {}))
        every.update(getattr(func, "user_templates", {}))
        for signature in sorted(every, key=str):
            adj = getattr(every[signature], "adj", None)
            if adj is None or getattr(every[signature], "generic_parent", None) is not None:
                continue
            note = notes.get(id(adj), {})
            texts.append(getattr(adj, "source", "") or "")
            data["loops"] += loops(adj)
            for part in ("constants", "values", "types"):
                data[part].update(note.get(part, {}))
            data["functions"] += [one for one in note.get("functions", []) if one not in data["functions"]]
        data["source"] = digest(*texts)
        result[func.key] = data
    return result


def _source(func):
    # type: (Any) -> str
    return getattr(getattr(func, "adj", None), "source", "") or ""


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LOOP = re.compile(r"^[ \t]*for\b[^\n#]*\bin[ \t]+range[ \t]*\(", re.M)


def loops(adj):
    # type: (Any) -> int
    """How many loops over a range the source has: what ``max_unroll`` is about."""
    return len(_LOOP.findall(getattr(adj, "source", "") or ""))


def shown(value):
    # type: (Any) -> str
    """A constant as a person writes it, at most 80 characters; what is no plain number goes with a digest."""
    text = _ADDRESS.sub("", repr(value))
    if isinstance(value, (bool, int, float)):
        return text
    return "%s #%s" % (text[:69], digest(text)[:8]) if len(text) > 80 else text


def type_words(kind):
    # type: (Any) -> str
    """An argument's type, spelled alike in every process; a struct's with its content."""
    dtype = getattr(kind, "dtype", kind)
    text = getattr(dtype, "native_name", None) or getattr(dtype, "key", None) or getattr(dtype, "__name__", "")
    text = str(text or type(dtype).__name__)
    if dtype is kind:
        return text
    return "%s(%s, ndim=%s)" % (type(kind).__name__, text, getattr(kind, "ndim", 1))


def install(context, build, codegen, probe):
    # type: (Any, Any, Any, Any) -> None
    """Hook hashing, code generation, native builds, links and Module.load."""
    for hook, given in (
        (_hook_hasher, (context, codegen, probe)),
        (_hook_struct, (codegen, probe)),
        (_hook_builder, (context, codegen)),
        (_hook_build, (build, probe)),
        (machine.install, (build, probe)),
        (_hook_compile, (context, probe)),
        (_hook_exec, (context,)),
        (_hook_load, (context, probe)),
        (_hook_preload, (context, probe)),
    ):  # type: Any, Any
        try:
            hook(*given)
        except AttributeError:
            # What is not there was said by ``capabilities``; each of the others stands by itself.
            continue


def _hook_hasher(context, codegen, probe):
    # type: (Any, Any, Any) -> None
    hasher_class = context.ModuleHasher
    original = hasher_class.__init__
    hashing = probe.loads.hashing

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        outer = hashing.hasher
        hashing.hasher = self
        self._warpfix_notes = {}
        given = args[1] if len(args) > 1 else kwargs.get("options")
        if isinstance(given, dict):
            self._warpfix_options = dict(given)
        phase = Phase("hash")
        try:
            with phase:
                original(self, *args, **kwargs)
        finally:
            hashing.hasher = outer
        try:
            phase.data["rehash"] = probe.rehashes.hashed(
                _module_of(args[0] if args else None), _clock() - phase.start - phase.nested, frames.user_line(1)
            )
        except Exception as error:
            probe.log.fault("hash", error)

    hasher_class.__init__ = __init__

    adjoint = getattr(codegen, "Adjoint", None)  # type: Any
    references = getattr(adjoint, "get_references", None)
    if references is None:
        return

    @functools.wraps(references)
    def get_references(self, *args, **kwargs):
        # type: (Any, Any, Any) -> Any
        found = references(self, *args, **kwargs)
        hasher = hashing.hasher
        if hasher is not None:
            try:
                with Aside():
                    hasher._warpfix_notes[id(self)] = _note(self, found, hasher)
            except Exception as error:
                probe.log.fault("references", error)
        return found

    adjoint.get_references = get_references


def _module_of(given):
    # type: (Any) -> str
    """The name of the module that is hashed: the hasher is given the module (up to 1.9), or its kernels."""
    name = getattr(given, "name", None)
    if name is not None:
        return str(name)
    for kernel in given or ():
        return str(kernel.module.name)
    return ""


def _note(adjoint, found, hasher):
    # type: (Any, Any, Any) -> dict[str, Any]
    """What a kernel or function brings into the hash beside its text: constants, static values, structs, functions."""
    constants, types, functions = found
    note = {"constants": {}, "values": {}, "types": {}, "functions": []}  # type: dict[str, Any]
    for name, value in constants.items():
        note["constants"][str(name)] = digest(hasher.get_constant_bytes(value))
        note["values"][str(name)] = shown(value)
    # Up to 1.7 by another name.
    statics = (
        getattr(adjoint, "resolved_static_expressions", None) or getattr(adjoint, "static_expressions", None) or {}
    )
    later = getattr(adjoint, "deferred_static_expressions", None) or []
    for text, value in itertools.chain(statics.items(), later):
        key = getattr(value, "key", None)
        note["constants"]["wp.static(%s)" % text] = digest(key if key is not None else repr(value))
        note["values"]["wp.static(%s)" % text] = shown(value) if key is None else str(key)
    note["functions"] = [f.key for f in functions if not f.is_builtin()]
    for kind in itertools.chain(types, adjoint.arg_types.values()):
        struct = getattr(kind, "dtype", kind)
        if isinstance(getattr(struct, "hash", None), bytes) and hasattr(struct, "vars"):
            note["types"][struct.key] = {"hash": struct.hash.hex()[:16], "at": getattr(struct, "_warpfix_at", None)}
    return note


def _hook_struct(codegen, probe):
    # type: (Any, Any) -> None
    """Struct.__init__: which line declared it."""
    struct = getattr(codegen, "Struct", None)  # type: Any
    if struct is None:
        return
    original = struct.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        original(self, *args, **kwargs)
        try:
            self._warpfix_at = frames.user_line(1)
        except Exception as error:
            probe.log.fault("struct", error)

    struct.__init__ = __init__


def _timed(owner, name, kind):
    # type: (Any, str, str) -> None
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def timed(*args, **kwargs):
        # type: (Any, Any) -> Any
        with Phase(kind) as phase:
            phase.data["call"] = name
            return original(*args, **kwargs)

    setattr(owner, name, timed)


def _hook_builder(context, codegen):
    # type: (Any, Any) -> None
    run = getattr(context.Module, "_run_codegen", None)
    lock = getattr(codegen, "_codegen_lock", None)
    if run is not None and lock is not None:

        @functools.wraps(run)
        def _run_codegen(self, *args, **kwargs):
            # type: (Any, Any, Any) -> Any
            # Taken here, where the waiting can be timed; the lock is re-entrant, and Warp takes it right below.
            with Phase("wait"):
                lock.acquire()
            try:
                return run(self, *args, **kwargs)
            finally:
                lock.release()

        context.Module._run_codegen = _run_codegen
    for name in ("__init__", "codegen", "build_meta"):
        _timed(context.ModuleBuilder, name, "codegen")


def _hook_build(build, probe):
    # type: (Any, Any) -> None
    for name in [name for name in dir(build) if name.startswith("build_lto_")]:
        _timed(build, name, "link")
    for name, position in (("build_cpu", 1), ("build_cuda", 0)):
        original = getattr(build, name, None)
        if original is None:
            continue

        def native(*args, **kwargs):
            # type: (Any, Any) -> Any
            _original, _position = kwargs.pop("_warpfix")
            with Phase("native") as phase:
                header = Header(kwargs.get("pch_dir"))
                try:
                    with Aside():
                        path = kwargs.get("cpp_path") or kwargs.get("cu_path") or args[_position]
                        phase.data["source_bytes"] = os.path.getsize(path)
                        links = kwargs.get("ltoirs")
                        phase.data["lto"] = len(links) if links else 0
                        phase.data["code"] = _keep(path, probe)
                        probe.log.event("native", source=os.path.basename(path), thread=probe.loads.thread())
                        header.begin()
                except Exception as error:
                    probe.log.fault("native", error)
                try:
                    return _original(*args, **kwargs)
                finally:
                    with Aside():
                        phase.data["pch"] = header.end()
                        probe.log.event("native-end", thread=probe.loads.thread())

        def wrapped(*args, _native=native, _original=original, _position=position, **kwargs):
            # type: (Any, Any, Any, int, Any) -> Any
            return _native(*args, _warpfix=(_original, _position), **kwargs)

        setattr(build, name, functools.wraps(original)(wrapped))


CODE_LIMIT = 1 << 30
"""Bytes of generated source that are kept for each process, each text once."""


def _keep(path, probe):
    # type: (str, Any) -> str
    """Save a copy of the generated source; the program's cache may not outlive the run."""
    with open(path, "rb") as file:
        text = file.read()
    copy = os.path.join(probe.config["code"], digest(text) + os.path.splitext(path)[1])
    if not os.path.exists(copy):
        loads = probe.loads
        if loads.kept + len(text) > probe.config.get("code_limit", CODE_LIMIT):
            raise OSError("more than %d bytes of generated source: the rest is not kept" % loads.kept)
        part = "%s.%d.%d" % (copy, os.getpid(), threading.get_ident())
        with open(part, "wb") as file:
            file.write(text)
        os.replace(part, copy)
        loads.kept += len(text)
    return copy


def _hook_compile(context, probe):
    # type: (Any, Any) -> None
    module_class = context.Module
    name = "_compile" if hasattr(module_class, "_compile") else "compile"
    original = getattr(module_class, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def compile(self, *args, **kwargs):
        # type: (Any, Any, Any) -> Any
        inside = sys._getframe(1).f_code.co_name == "load"
        start = _clock()
        error = None
        with Phase("compile") as phase:
            try:
                result = original(self, *args, **kwargs)
                phase.data["compiled"] = result is True
            except BaseException as caught:
                error = caught
                raise
            finally:
                if not inside:
                    phase.data["alone"] = True
        if not inside:
            try:
                device = args[0] if args else kwargs.get("device")
                arch = args[3] if len(args) > 3 else kwargs.get("output_arch")
                probe.loads.finished(self, device, None, start, _clock(), None, error, arch)
            except Exception as fault:
                probe.log.fault("compile", fault)
        return result

    setattr(module_class, name, compile)


def _hook_load(context, probe):
    # type: (Any, Any) -> None
    module_class = context.Module
    original = module_class.load
    loads = probe.loads

    @functools.wraps(original)
    def load(self, device, block_dim=None, *args, **kwargs):
        # type: (Any, Any, Any, Any, Any) -> Any
        start = _clock()
        try:
            if args or kwargs:
                module_exec = original(self, device, block_dim, *args, **kwargs)
            else:
                module_exec = original(self, device, block_dim)
        except BaseException as error:
            try:
                loads.finished(self, context.runtime.get_device(device), block_dim, start, _clock(), None, error)
            except Exception as fault:
                probe.log.fault("load", fault)
            raise
        try:
            # Ready already: the case of nearly every launch.
            module_exec._warpfix_load  # noqa: B018
        except AttributeError:
            try:
                end = _clock()
                where = context.runtime.get_device(device)
                if module_exec is not None:
                    if _told_by_another(module_exec):
                        return module_exec
                    try:
                        done = loads.finished(self, where, block_dim, start, end, module_exec, None)
                    except Exception:
                        module_exec._warpfix_load = {}
                        raise
                    module_exec._warpfix_load = done
                elif take(start):
                    loads.finished(self, where, block_dim, start, end, None, None)
            except Exception as fault:
                probe.log.fault("load", fault)
        return module_exec

    module_class.load = load


def _hook_exec(context):
    # type: (Any) -> None
    """Remember which thread loaded: others may launch before that one has logged its load."""
    exec_class = context.ModuleExec
    original = exec_class.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # type: (Any, Any, Any) -> None
        self._warpfix_thread = threading.get_ident()
        original(self, *args, **kwargs)

    exec_class.__init__ = __init__


def _told_by_another(module_exec):
    # type: (Any) -> bool
    """Wait, a second at most, until the thread that loaded has logged it; False for that thread itself."""
    if getattr(module_exec, "_warpfix_thread", None) in (None, threading.get_ident()):
        return False
    for _ in range(1000):
        if hasattr(module_exec, "_warpfix_load"):
            return True
        time.sleep(0.001)
    return False


def _hook_preload(context, probe):
    # type: (Any, Any) -> None
    """Remember who asked for a preload: its worker threads have no frame of the program."""
    original = getattr(context, "force_load", None)
    if original is None:
        return

    @functools.wraps(original)
    def force_load(*args, **kwargs):
        # type: (Any, Any) -> Any
        outer = probe.loads.preload
        probe.loads.preload = frames.user_line(1)
        try:
            return original(*args, **kwargs)
        finally:
            probe.loads.preload = outer

    context.force_load = force_load
