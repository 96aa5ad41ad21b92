"""The files that people read: present, linked, and free of what has no place in them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md"), *CHECKOUT.glob("sample_projects/*/*.md")])

# Written apart so that this file does not hold them either.
PRIVATE = [
    re.compile(pattern)
    for pattern in (
        r"/" + r"work/",
        r"/" + r"root/",
        r"/" + r"tmp/w/",
        r"(?i)\bclau" + r"de\b",
        r"(?i)\banthro" + r"pic\b",
        r"shared/" + r"DESIGN",
        r"FACTS" + r"-WARP",
        r"TRAPS" + r"\.md",
        r"(?i)\bco-" + r"authored-by\b",
    )
]


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [CHECKOUT / name for name in listing.stdout.split("\0") if name and (CHECKOUT / name).is_file()]


def test_no_machine_and_no_tool_is_named() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{path.relative_to(CHECKOUT)}:{number}: {p.pattern}" for p in PRIVATE if p.search(line)]
    assert found == []


def test_the_license_is_apache() -> None:
    text = (CHECKOUT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(CHECKOUT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, _ = target.partition("#")
        if path and "://" not in path and not (document.parent / path).exists():
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs/architecture.md"])
def test_the_paper_is_there(name: str) -> None:
    assert (CHECKOUT / name).read_text(encoding="utf-8").strip()


def test_every_sample_says_what_to_expect() -> None:
    for sample in sorted(path for path in (CHECKOUT / "sample_projects").iterdir() if path.is_dir()):
        assert (sample / "pyproject.toml").is_file(), sample
        assert re.search(r"^Run: `python .+`$", (sample / "EXPECT.md").read_text(encoding="utf-8"), re.MULTILINE)
