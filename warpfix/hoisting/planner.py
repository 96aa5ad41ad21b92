"""The decisions for one file together: its closure kernels share companions, places and names."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence

from warpfix.codemods import Declined
from warpfix.codemods.hoist import Hoist
from warpfix.findings import Applicability, KernelRename
from warpfix.hoisting.facts import functions_around, kernel_key
from warpfix.hoisting.ground import Ground
from warpfix.hoisting.landing import landing_of, parameter_function
from warpfix.hoisting.model import AsItShouldBe, Item, Landing, Unproved, Varies, Verdict, with_needs
from warpfix.hoisting.naming import Names
from warpfix.hoisting.needs import Needs
from warpfix.hoisting.places import Places, find_places
from warpfix.hoisting.project import Hoister
from warpfix.hoisting.uses import check_uses, drop_beside_failures
from warpfix.index.constructs import own_module, parameter_default
from warpfix.index.model import Construct, FileIndex, ModuleChoice, Role

_TILE = re.compile(r"\btile_\w+")


class FilePlanner:
    """All closure kernels of one file together."""

    def __init__(self, hoister: Hoister, file: FileIndex) -> None:
        self.ground = Ground(hoister, file)
        self.needs = Needs(self.ground)
        self.escaping: set[tuple[int, str]] = set()
        """Kernels that get another name, or leave their function."""
        self.roots: dict[int, Item] = {}
        """Verdict, by identity, to the kernel with what moves along."""
        self.places: Places = {}

    def plan(self, closures: Sequence[Construct]) -> list[Verdict]:
        """One verdict per closure kernel, in the order given."""
        verdicts = []
        for construct in closures:
            verdict = Verdict(self.ground.file, construct)
            verdicts.append(verdict)
            try:
                self.roots[id(verdict)] = self._examine(construct)
                verdict.landing = landing_of(self.ground, construct)
            except Varies as varies:
                verdict.captures = varies.captures
            except Declined as reason:
                verdict.declined = str(reason)
                verdict.silent = isinstance(reason, AsItShouldBe)
                verdict.same = not isinstance(reason, Unproved)
        for verdict in verdicts:
            # Whatever is wrong with a stable kernel, a wrapper that hides its module says nothing of lateness.
            unknown = verdict.construct.module_choice is ModuleChoice.UNKNOWN or verdict.construct.via_wrapper
            verdict.silent = verdict.silent or bool(unknown)
        hoistable = [verdict for verdict in verdicts if verdict.stable and verdict.declined is None]
        drop_beside_failures(self.ground, hoistable, closures)
        hoistable = [verdict for verdict in hoistable if verdict.declined is None]
        self.places = find_places(self.ground, hoistable, self.roots)
        hoistable = [verdict for verdict in hoistable if verdict.declined is None]
        self.names = Names(self.ground, self.places)
        self.names.give(hoistable, self.roots)
        self._edits(hoistable)
        for verdict in verdicts:
            functions = functions_around(verdict.construct.enclosing)
            outer = functions[0]
            position = list(verdict.construct.enclosing).index(outer)
            verdict.at_import_only = self.ground.hoister.only_at_import(
                self.ground.file, outer, verdict.construct.enclosing[:position]
            )
            if verdict.edits:
                self._judge(verdict)
        return verdicts

    def _examine(self, construct: Construct) -> Item:
        item = self.needs.item(construct.node, construct.name, construct)
        if check_uses(self.ground, item):
            self.escaping.add(item.key)
        return item

    def _edits(self, verdicts: Sequence[Verdict]) -> None:
        edits: dict[tuple[int, str], Hoist] = {}
        for verdict in verdicts:
            for item in with_needs(self.roots[id(verdict)]):
                if item.key not in edits:
                    landing = verdict.landing if item is self.roots[id(verdict)] else None
                    edits[item.key] = self._edit(item, landing)
        for verdict in verdicts:
            root = self.roots[id(verdict)]
            needed = with_needs(root)
            twins = [twin for item in needed if (twin := self.names.merged.get(item.key)) is not None]
            chosen: dict[tuple[int, str], None] = {}
            for item in [*needed, *(inner for twin in twins for inner in with_needs(twin))]:
                chosen[item.key] = None
            verdict.edits = tuple(edits[key] for key in sorted(chosen) if key in edits)
            construct = verdict.construct
            old = construct.qualname
            edit = edits[root.key]
            verdict.rename = KernelRename(
                self.ground.file.path,
                old,
                root.new_name,
                kernel_key(old),
                edit.key or kernel_key(root.new_name),
            )
            verdict.moved = tuple(item.name for item in needed if item is not root)

    def _edit(self, item: Item, landing: Landing | None) -> Hoist:
        names = []
        if item.new_name != item.name:
            for occurrence in self.ground.scopes.references(item.scope, item.name):
                node = occurrence.node
                if node is item.node and not isinstance(node, (ast.Assign, ast.AnnAssign)):
                    names.append((*self._name_position(item.node), item.new_name))
                else:
                    names.append((node.lineno, node.col_offset, item.new_name))  # type: ignore[attr-defined]
        anchor: int | None = None
        after = False
        if item.key not in self.names.merged:
            anchor, after = self.places[self.ground.outermost(item.node)]
        construct = item.construct
        if construct is None or construct.kind != "kernel":
            return Hoist(item.node.lineno, item.name, anchor, after, item.new_name, tuple(names))
        key = None
        if self.ground.hoister.keep_keys and self.ground.hoister.warp_min >= (1, 17):
            key = kernel_key(construct.qualname)
        parameter = default = None
        if construct.module_choice is ModuleChoice.PARAMETER:
            parameter = construct.module_parameter
            value = parameter_default(parameter_function(self.ground, construct), parameter or "")
            default = self.ground.source.text[slice(*self.ground.source.span(value))] if value is not None else None
        return Hoist(
            item.node.lineno,
            item.name,
            anchor,
            after,
            item.new_name,
            tuple(names),
            decorator=0,
            module=landing.argument if landing else None,
            key=key,
            parameter=parameter,
            default=default,
        )

    def _name_position(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        line = self.ground.source.line(node.lineno)
        start = len(line.encode()[: node.col_offset].decode())
        match = re.compile(rf"(?:class|def|async\s+def)\s+(?={re.escape(node.name)}\b)").search(line, start)
        if match is None:
            raise Declined(f"the name of `{node.name}` does not stand on the line of its definition")
        return node.lineno, len(line[: match.end()].encode())

    def _judge(self, verdict: Verdict) -> None:
        """How much the fix needs: proof from source, a measurement, or the user's word."""
        landing = verdict.landing
        assert landing is not None
        holder = self.ground.outermost(verdict.construct.node)
        line, after = self.places[holder]
        if after:
            line += 1
        default = landing.module == own_module(self.ground.file)
        creates = self.ground.facts.creation_before(line, None if default else landing.module)
        asks = self.ground.file.role is Role.LIBRARY
        reasons = []
        level = Applicability.SAFE
        if not creates:
            level = Applicability.ASK if asks else Applicability.MEASURED
            reasons.append(
                "hoisting moves the creation of the Warp module, when it copies six options of `wp.config`, to the "
                "import"
            )
        if landing.shared:
            level = level if level is Applicability.ASK else Applicability.MEASURED
            reasons.append("sharing a Warp module pays only where its kernels are built together")
        renamed = verdict.rename is not None and verdict.rename.old_key != verdict.rename.new_key
        root = self.roots[id(verdict)].key
        if level is Applicability.SAFE and renamed and root in self.escaping and self.ground.facts.reads_keys:
            level = Applicability.MEASURED
            reasons.append("the file reads `.key` of something, and this kernel's key changes")
        if level is Applicability.SAFE:
            late = self.ground.hoister.late_writes
            if late:
                file, write = late[0]
                level = Applicability.MEASURED
                what = "`wp.config`" if write.via == "config" else "into the options of a Warp module"
                reasons.append(
                    f"{os.path.basename(file.path)}:{write.node.lineno} writes {what} when kernels may have been "
                    "launched, and a new kernel makes Warp read it again"
                )
            elif any(
                _TILE.search(self.ground.source.text[slice(*self.ground.source.span(item.node))])
                for item in with_needs(self.roots[id(verdict)])
            ):
                level = Applicability.MEASURED
                reasons.append("a kernel with tiles is then also built for the block size of the other kernels")
        verdict.applicability = level
        verdict.unproved = "; ".join(reasons)
