"""What of Warp the probe looks for, and what it can't observe where a version has it not: the one place that says so.

Hooks are put on by what is there, never by a version's number. A name that no known version lacks and that is missing
is told in the report, with what is then not observed.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 (type comments)

NEEDED = (
    ("context", "Module.__init__", "writes of module options"),
    ("context", "Module.load", "builds and loads: nothing can be said about compilation"),
    ("context", "Module.mark_modified", "which launch added an overload"),
    ("context", "ModuleExec.__init__", "loads by several threads at once"),
    ("context", "ModuleHasher.__init__", "why a module was built again, and the time of hashing"),
    ("context", "ModuleBuilder.codegen", "the time of code generation"),
    ("context", "Kernel.__init__", "where kernels are defined and made"),
    ("context", "launch", "launches"),
    ("context", "ModuleExec.get_kernel_hooks", "launches"),
    ("context", "Launch.launch", "launches of recorded commands"),
    ("context", "capture_launch", "launches of captured graphs"),
    ("context", "force_load", "who asked for a preload"),
    ("codegen", "Adjoint.get_references", "which captured values and functions a kernel has in its hash"),
    ("codegen", "Struct.__init__", "where structs are declared"),
    ("build", "build_cpu", "native builds for the CPU: their time, their source, and the code of kernels"),
    ("build", "build_cuda", "native builds for CUDA: their time, their source, and the code of kernels"),
    ("build", "init_kernel_cache", "cache folders that the program chooses: they may be the user's own"),
    ("build", "clear_kernel_cache", "who clears the cache"),
    ("config", "version", "Warp's version"),
)  # type: tuple[tuple[str, str, str], ...]
"""(module, name in it, what is not observed without it). All known versions, 1.7 to 1.19, have all of these."""

ADDED = (
    ("context", "invoke"),
    ("context", "invoke_cpu_blocks"),
    ("context", "Module._compile"),
    ("context", "Module._run_codegen"),
    ("context", "Module.resolve_options"),
    ("codegen", "_codegen_lock"),
)  # type: tuple[tuple[str, str], ...]
"""(module, name): what tells the generations of the API apart. What lacks them is observed in another way."""


def has(owner, path):
    # type: (Any, str) -> bool
    """Whether a dotted name is there; of a class only what it defines itself, not what every object has."""
    for name in path.split("."):
        found = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name, None)
        if found is None:
            return False
        owner = found
    return True


def look(modules):
    # type: (dict[str, Any]) -> tuple[list[str], list[tuple[str, str]]]
    """(names of the generations that are there, [(missing name, what is not observed without it)])."""
    there = [name for module, name in ADDED if has(modules.get(module), name)]
    missing = [("%s.%s" % (module, name), loss) for module, name, loss in NEEDED if not has(modules.get(module), name)]
    return there, missing


def everything():
    # type: () -> list[tuple[str, str]]
    """What is missing where Warp was imported and its context module is not where any known version has it."""
    return [("context", "anything: this Warp is built in a way that warpfix does not know")]
