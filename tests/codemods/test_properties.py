"""Generated programs: every edit parses, keeps comments, is idempotent, and the program computes the same."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from edit_support import HEADER, check_invariants, comments, edit, make_project, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warpfix.codemods.compose import compose

from warpfix.findings import Finding

NAMES = st.sampled_from(["scale", "run", "kernel", "first", "sum", "helper", "test_it", "N"])
COMMENTS = st.sampled_from(["", "# about it\n", "# ---- banner ----\n\n", "# type: (...) -> None\n"])
BODIES = st.sampled_from(
    [
        "a[0] = 1.0",
        "a[0] = {helper}(a[0])",
        "a[0] = float({constant})",
        "for i in range({constant}):\n    a[i] = 2.0  # set\n\n    # after",
        '"""Text\n  over lines."""\na[0] = (\n    1.0\n    + 2.0\n)',
    ]
)
ENDS = st.sampled_from(
    ["return {kernel}", "wp.launch({kernel}, dim=1, inputs=[a])", "kernels = [{kernel}]\nreturn lambda: {kernel}", ""]
)


def indent(text: str, by: str) -> str:
    return "".join(by + line if line.strip() else line for line in text.splitlines(keepends=True))


@st.composite
def function(draw: st.DrawFn, number: int) -> str:
    kernel, helper, constant = draw(st.lists(NAMES, min_size=3, max_size=3, unique=True))
    step = draw(st.sampled_from(["    ", "  ", "\t"]))
    values = {"kernel": kernel, "helper": helper, "constant": constant}
    body = draw(BODIES).format(**values)
    pieces = []
    if draw(st.booleans()):
        pieces.append('"""What it does."""\n')
    if constant in body or draw(st.booleans()):
        pieces.append(
            f"{constant} = {draw(st.sampled_from(['3', 'wp.constant(2)']))}{draw(st.sampled_from(['', '  # n']))}\n"
        )
    if helper in body:
        pieces.append(f"@wp.func\ndef {helper}(x: float) -> float:\n{step}return x + {number % 2}.0\n\n")
    pieces.append(draw(COMMENTS))
    pieces.append(f"@wp.kernel\ndef {kernel}(a: wp.array(dtype=float)):\n{indent(body, step)}\n")
    pieces.append(draw(st.sampled_from(["", "\n", "\n\n"])))
    pieces.append(draw(ENDS).format(**values) + "\n")
    text = f"def make_{number}(a=None):\n" + indent("".join(pieces), step)
    if draw(st.booleans()):
        text = f"class Holder{number}:\n" + indent(text.replace("(a=None)", "(self, a=None)"), step)
    return text.rstrip("\n ") + "\n"


@st.composite
def program(draw: st.DrawFn) -> str:
    count = draw(st.integers(1, 4))
    functions = [draw(function(number)) for number in range(count)]
    text = HEADER + "\n\n".join(functions)
    if draw(st.booleans()):
        text += "\n\ndef other(scale=1):\n    return sum([scale])\n"
    if draw(st.booleans()):
        text = text.rstrip("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program())
def test_edits_of_generated_programs(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = make_project(Path(folder) / "p", {"mod.py": text.encode()})
        result = edit(root)
        stable = [verdict for verdict in result.verdicts if verdict.stable and verdict.declined is None]
        assert len(stable) == len(result.verdicts)
        new = result.texts["mod.py"]
        check_invariants(text, new, merges=any(one.anchor is None for v in result.verdicts for one in v.edits))
        if "\r\n" in text:
            assert "\n" not in new.replace("\r\n", "")
        write(root, result.texts)
        again = edit(root)
        assert (again.texts, [f for f in again.findings if f.code == "WF101"]) == ({}, [])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(program())
def test_every_subset_of_fixes_composes(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = make_project(Path(folder) / "p", {"mod.py": text.encode()})
        edits = [verdict.edits for verdict in edit(root).verdicts]
        for some in itertools.chain.from_iterable(itertools.combinations(edits, n) for n in range(1, len(edits) + 1)):
            result = compose(text, [one for group in some for one in group])
            assert result.conflicts == ()
            check_invariants(text, result.text, merges=any(one.anchor is None for group in some for one in group))


DECORATORS = st.sampled_from(
    ["wp.kernel", "wp.kernel()", "wp.kernel(enable_backward=False)", "wp.kernel(\n    enable_backward=False,  # why\n)"]
)
USES = st.sampled_from(
    [
        "for _ in range(9):\n    wp.launch({make}({value}), dim=1, inputs=[x])\n",
        "for _ in range(9):\n    kernel = {make}({value})\n    wp.launch(kernel, dim=1, inputs=[x])\n",
        "wp.launch({make}({value}), dim=1, inputs=[x])\n",
    ]
)


@st.composite
def factory(draw: st.DrawFn, number: int) -> tuple[str, str]:
    """A function that makes a specialised kernel, and code that calls it."""
    name, step = f"make_{number}", draw(st.sampled_from(["    ", "  ", "\t"]))
    pieces = [draw(st.sampled_from(["", '"""What it makes."""\n', "k = 2 * n\n"])), draw(COMMENTS)]
    pieces.append(f"@{draw(DECORATORS)}\ndef scale(a: wp.array(dtype=float)):\n{step}a[0] = float(n)  # set\n")
    pieces.append(draw(st.sampled_from(["", "\n"])) + "return scale\n")
    head = draw(st.sampled_from(["n", "n=1", "*, n=2"]))
    value = f"n={draw(st.integers(1, 3))}" if head.startswith("*") else str(draw(st.integers(1, 3)))
    return f"def {name}({head}):\n" + indent("".join(pieces), step), draw(USES).format(make=name, value=value)


@st.composite
def specialised(draw: st.DrawFn) -> str:
    made = [draw(factory(number)) for number in range(draw(st.integers(1, 3)))]
    options = draw(st.sampled_from(["", 'wp.set_module_options({"max_unroll": 4})\n', "wp.config.max_unroll = 4\n"]))
    text = HEADER.replace("import warp as wp\n", f"import warp as wp\n{options}")
    text += "\n\n".join([*(definition for definition, _ in made), draw(function(7))])
    text += '\n\nif __name__ == "__main__":\n    x = wp.zeros(1, dtype=float)\n'
    text += "".join(indent(use, "    ") for _, use in made)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def offered(root: Path) -> list[Finding]:
    result = edit(root, warp_min="1.13")
    return [finding for finding in result.findings if finding.fix is not None and finding.code != "WF701"]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(specialised())
def test_isolating_memoising_and_hoisting_compose(text: str) -> None:
    """Whatever of it a measurement keeps: it fits together, says what it said, and is not offered again."""
    with tempfile.TemporaryDirectory() as folder:
        root = make_project(Path(folder) / "p", {"mod.py": text.encode()})
        findings = offered(root)
        made = text.count("def make_") - 1  # the last one is the stable kernel's
        assert sum(finding.code == "WF102" for finding in findings) == made
        groups = [finding.fix.edits[str(root.resolve() / "mod.py")] for finding in findings if finding.fix]
        for count in {1, len(groups)}:
            for some in itertools.combinations(groups, count):
                result = compose(text, list(dict.fromkeys(one for group in some for one in group)))
                assert result.conflicts == ()
                compile(result.text, "mod.py", "exec", dont_inherit=True)
                assert set(comments(text)) == set(comments(result.text))
                assert ("\r\n" in text) == ("\r\n" in result.text)
        write(root, {"mod.py": result.text})
        assert [finding.message for finding in offered(root) if finding.code in ("WF101", "WF102", "WF501")] == []
