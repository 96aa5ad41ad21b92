"""With which block dims a kernel is launched, as far as the source says: who shares a Warp module shares its builds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from warpfix.codemods import Declined
from warpfix.index.build import ProjectIndex
from warpfix.index.constructs import call_argument, value_of
from warpfix.index.model import Construct, FileIndex, Launch, ModuleChoice

if TYPE_CHECKING:
    from warpfix.hoisting.project import Hoister

_DEFAULT = 256
_LAUNCHES = ("launch", "launch_tiled")


class LaunchDims:
    """The block dims of all launches of a project. 256 is what Warp takes on CUDA where a launch says nothing."""

    def __init__(self, index: ProjectIndex) -> None:
        self.index = index
        self.said = any("block_dim" in file.text for file in index.files.values())
        """Whether any file speaks of block dims at all."""
        self._by_kernel: dict[str, set[int | None]] = {}
        self._anywhere: dict[str, set[int | None]] = {}
        """File to the block dims of its launches whose kernel the source does not name."""
        for file in index.files.values() if self.said else ():
            for launch in file.launches:
                if launch.via in _LAUNCHES:
                    dim = self._dim(file, launch)
                    if launch.kernel_target is None:
                        self._anywhere.setdefault(file.path, set()).add(dim)
                    else:
                        self._by_kernel.setdefault(launch.kernel_target, set()).add(dim)

    def of(self, file: FileIndex, construct: Construct) -> frozenset[int] | None:
        """The block dims of a kernel's launches; None where the source does not say."""
        if not self.said:
            return frozenset({_DEFAULT})
        found = set(self._by_kernel.get(self.index.canonical(file, construct), ()))
        launchers = [path for path in self._anywhere if self._sees(path, file)]
        if launchers and self._passed_on(file, construct):
            found |= {dim for path in launchers for dim in self._anywhere[path]}
        return None if None in found else frozenset(dim for dim in found if dim is not None) or frozenset({_DEFAULT})

    def _dim(self, file: FileIndex, launch: Launch) -> int | None:
        call = launch.node
        given = call_argument(call, 1 << 20, "block_dim")
        if given is None:
            starred = any(keyword.arg is None for keyword in call.keywords) and "block_dim" in file.text
            return None if starred or launch.via == "launch_tiled" else _DEFAULT
        value = value_of(self.index, file, given, launch.enclosing)
        return value.value if isinstance(value, ast.Constant) and type(value.value) is int else None

    def _sees(self, path: str, file: FileIndex) -> bool:
        """Whether a kernel of the file may get to a launch in another: it is imported there, or handed over."""
        return (
            path == file.path
            or file.path in self.index.imported_files(path)
            or path in self.index.imported_files(file.path)
        )

    def _passed_on(self, file: FileIndex, construct: Construct) -> bool:
        """Whether the kernel is used for anything but launches that name it."""
        canonical = self.index.canonical(file, construct)
        named = {
            id(launch.kernel)
            for other in self.index.files.values()
            for launch in other.launches
            if launch.kernel_target == canonical
        }
        if not construct.in_function:
            return any(id(reference.node) not in named for reference in self.index.references(canonical))
        function = next(node for node in reversed(construct.enclosing) if hasattr(node, "name"))
        return any(
            isinstance(node, ast.Name)
            and node.id == construct.name
            and isinstance(node.ctx, ast.Load)
            and id(node) not in named
            for node in ast.walk(function)
        )


def fits_own_module(hoister: Hoister, file: FileIndex, construct: Construct) -> bool:
    """Whether the file's own Warp module is launched with the kernel's block dims only, so that it may join."""
    dims = hoister.dims.of(file, construct)
    kernels = [one for one in file.constructs if one.kind == "kernel"]
    own = {hoister.dims.of(file, one) for one in kernels if one.module_choice is ModuleChoice.DEFAULT}
    if own:
        return own == {dims}
    return dims == frozenset({_DEFAULT}) or all(hoister.dims.of(file, one) == dims for one in kernels)


def suffix(hoister: Hoister, file: FileIndex, construct: Construct) -> str:
    """What tells the shared modules of a file apart: kernels with other block dims share no module.

    Raises:
        Declined: the source does not say with which block dims the kernel is launched.
    """
    dims = hoister.dims.of(file, construct)
    if dims is None:
        raise Declined(f"`{construct.name}` is launched with a block_dim that is not in the source")
    return "" if dims == frozenset({_DEFAULT}) else "_block" + "_".join(str(dim) for dim in sorted(dims))
