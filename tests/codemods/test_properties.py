"""Generated programs: every edit parses, keeps comments, is idempotent, and the program computes the same."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from edit_support import HEADER, check_invariants, edit, make_project, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    from warpfix.codemods.compose import compose

    with tempfile.TemporaryDirectory() as folder:
        root = make_project(Path(folder) / "p", {"mod.py": text.encode()})
        edits = [verdict.edits for verdict in edit(root).verdicts]
        for some in itertools.chain.from_iterable(itertools.combinations(edits, n) for n in range(1, len(edits) + 1)):
            result = compose(text, [one for group in some for one in group])
            assert result.conflicts == ()
            check_invariants(text, result.text, merges=any(one.anchor is None for group in some for one in group))
