"""Comments that head a section, a file or a fold: what moves lands below or above them as a maintainer would have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_support import HEADER, check_transformed, dedent, make_project
from warpfix.codemods import Source
from warpfix.codemods.compose import compose
from warpfix.codemods.insert_statement import InsertStatement
from warpfix.codemods.move_statement import MoveStatement

HEADINGS = [
    "# ---- helpers ----",
    "# --- helpers",
    "# helpers ---",
    "#### helpers ####",
    "# ==========",
    "#----------",
    "# *** helpers ***",
    "# ~~~ helpers",
    "# \u2500\u2500\u2500 helpers \u2500\u2500\u2500",
    "########",
    "# region helpers",
    "#region helpers",
    "# endregion",
    "# %% helpers",
    "#%%",
    '# <editor-fold desc="helpers">',
    "# </editor-fold>",
    "# MARK: helpers",
    "# helpers {{{",
    "# }}}",
    "# Copyright (c) the authors",
    "# SPDX-License-Identifier: Apache-2.0",
]

ABOUT_IT = [
    "# about it",
    "#about it",
    "# one -- two",
    "# x ** 2 - - y",
    "# TODO: see a---b",
    "# so on ...",
    "# 1.0 --> 2.0",
    "# regional helpers",
    "# it's 100 %% right",
    "# not licensed",
    "# a table | ---",
]


@pytest.mark.parametrize("comment", HEADINGS)
def test_a_heading_is_not_attached(comment: str) -> None:
    source = Source(f"x = 1\n{comment}\n# about it\ndef f(): pass\n")
    assert source.comments_above(4) == 3
    assert source.comment_block_above(4) == 2


@pytest.mark.parametrize("comment", ABOUT_IT[:-1])
def test_what_only_looks_like_one_is_attached(comment: str) -> None:
    assert Source(f"x = 1\n{comment}\ndef f(): pass\n").comments_above(3) == 2


KERNEL = """
@wp.kernel
def scale(a: wp.array(dtype=float)):
    a[0] = 2.0
"""

INSIDE = """
def run(a):
    @wp.kernel
    def scale(a: wp.array(dtype=float)):
        a[0] = 2.0

    return scale
"""

LEFT = "def run(a):\n    return scale\n"

# What stands above the function; what does after the move: above the kernel, and between it and the function.
PLACES = {
    "a banner right above": ("# ---- factories ----\n", "# ---- factories ----\n\n\n", ""),
    "a banner of three lines": ("# ------\n# Factories\n# ------\n", "# ------\n# Factories\n# ------\n\n\n", ""),
    "an underlined title": ("# Factories\n# =========\n", "# Factories\n# =========\n\n\n", ""),
    "a banner, and the function's own": ("# ----\n# of run\n", "# ----\n\n\n", "# of run\n"),
    "a banner that stands apart": ("# ---- factories ----\n\n", "# ---- factories ----\n\n\n", ""),
    "a banner and a comment, apart": ("# ---- x ----\n\n# of run\n", "# ---- x ----\n\n\n", "# of run\n"),
    "a fold": ("# region factories\n", "# region factories\n\n\n", ""),
    "the end of a fold": ("# endregion\n", "# endregion\n\n\n", ""),
    "a cell": ("# %%\n", "# %%\n\n\n", ""),
    "the function's own": ("# of run\n# more\n", "", "# of run\n# more\n"),
    "a word to a formatter": ("# fmt: off\n", "# fmt: off\n\n\n", ""),
}


@pytest.mark.parametrize(("above", "kernel", "function"), PLACES.values(), ids=PLACES)
def test_a_kernel_lands_below_the_heading_of_its_function(
    tmp_path: Path, above: str, kernel: str, function: str
) -> None:
    root = make_project(tmp_path / "p", {"mod.py": HEADER + above + INSIDE.lstrip()})
    check_transformed(root, {"mod.py": HEADER + kernel + KERNEL.lstrip() + "\n\n" + function + LEFT})


# Comments above the kernel, in its function: what goes along, and what stays.
INNER = {
    "its own": ("# about it\n", "# about it\n", ""),
    "a heading": ("# ---- kernels ----\n", "", "# ---- kernels ----\n"),
    "a heading and its own": ("# ---- kernels ----\n# about it\n", "# about it\n", "# ---- kernels ----\n"),
    "a fold": ("# region kernels\n", "", "# region kernels\n"),
}


@pytest.mark.parametrize(("above", "kernel", "function"), INNER.values(), ids=INNER)
def test_a_heading_in_a_function_stays_there(tmp_path: Path, above: str, kernel: str, function: str) -> None:
    inner = "".join(f"    {line}\n" for line in above.splitlines())
    root = make_project(tmp_path / "p", {"mod.py": HEADER + INSIDE.lstrip().replace("    @wp", inner + "    @wp")})
    stays = "".join(f"    {line}\n" for line in function.splitlines())
    left = LEFT.replace("    return", stays + "    return")
    check_transformed(root, {"mod.py": HEADER + kernel + KERNEL.lstrip() + "\n\n" + left})


def test_below_an_import_a_kernel_keeps_its_distance_from_the_next_heading(tmp_path: Path) -> None:
    text = """
    import warp as wp


    @wp.kernel
    def first(a: wp.array(dtype=float)):
        a[0] = 1.0


    def run(a):
        @wp.kernel
        def scale(a: wp.array(dtype=FLOAT)):
            a[0] = 2.0

        return scale


    FLOAT = wp.float32
    # ---- the rest ----
    x = 1
    """
    root = make_project(tmp_path / "p", {"mod.py": text})
    after = """
    import warp as wp


    @wp.kernel
    def first(a: wp.array(dtype=float)):
        a[0] = 1.0


    def run(a):
        return scale


    FLOAT = wp.float32


    @wp.kernel
    def scale(a: wp.array(dtype=FLOAT)):
        a[0] = 2.0


    # ---- the rest ----
    x = 1
    """
    check_transformed(root, {"mod.py": dedent(after)})


# A setting goes above the section of the imports that it must precede, and below the head of the file.
INSERTED = [
    pytest.param(
        "import warp\n# ---- ours ----\nimport b\n", 3, "import warp\n{}# ---- ours ----\nimport b\n", id="ruler"
    ),
    pytest.param("# Copyright\n# all rights\nimport b\n", 3, "# Copyright\n# all rights\n{}import b\n", id="licence"),
    pytest.param("#!/bin/x\n# What it is.\nimport b\n", 3, "#!/bin/x\n# What it is.\n{}import b\n", id="shebang"),
    pytest.param("# of the call\nb()\n", 2, "{}# of the call\nb()\n", id="no import"),
]


@pytest.mark.parametrize(("text", "before", "expected"), INSERTED)
def test_statements_go_above_a_section_and_below_the_head_of_the_file(text: str, before: int, expected: str) -> None:
    assert compose(text, [InsertStatement(before, "w.x = 1")]).text == expected.format("w.x = 1\n\n")
    composed = compose(text + "w.x = 1\n", [MoveStatement(text.count("\n") + 1, before)])
    assert composed.text == expected.format("w.x = 1\n")
