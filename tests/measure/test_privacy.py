from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from warpfix.measure.privacy import Mask, mask_arguments, shown_command


@pytest.mark.parametrize(
    ("arguments", "masked"),
    [
        pytest.param(["python", "app.py", "--steps", "3"], ["python", "app.py", "--steps", "3"], id="nothing to hide"),
        pytest.param(["--api-token", "s3"], ["--api-token", "***"], id="value after the option"),
        pytest.param(["--password=s3"], ["--password=***"], id="value with equals"),
        pytest.param(["--SECRET=s3", "x"], ["--SECRET=***", "x"], id="any case"),
        pytest.param(["env", "A=s3", "python"], ["env", "A=***", "python"], id="env assignment"),
        pytest.param(["--use-key", "--steps", "3"], ["--use-key", "--steps", "3"], id="flag without a value"),
        pytest.param(["-m", "pytest", "tests/test_key.py"], ["-m", "pytest", "tests/test_key.py"], id="paths stay"),
        pytest.param(["--lr=0.1"], ["--lr=0.1"], id="other options keep their values"),
    ],
)
def test_arguments(arguments: list[str], masked: list[str]) -> None:
    assert mask_arguments(arguments) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("cd x && run --api-token s3 --steps 3", "cd x && run --api-token *** --steps 3", id="option"),
        pytest.param("run --password='s 3'; echo", "run --password=***; echo", id="quoted"),
        pytest.param("X=1 python app.py", "X=***", id="begins with a variable: all of it"),
        pytest.param("exec env MINE=s3 python app.py", "exec env MINE=*** python app.py", id="variable"),
        pytest.param("import a; a.api_key = 's3'; n=4", "import a; a.api_key = ***; n=4", id="assignment"),
    ],
)
def test_the_text_of_a_shell_command_or_a_program(text: str, masked: str) -> None:
    assert mask_arguments(["sh", "-c", text]) == ["sh", "-c", masked]
    assert "s3" not in shown_command(["sh", "-c", text])


def test_a_secret_that_is_passed_stays_out_of_every_output(run_cli: Any, tmp_path: Path) -> None:
    """The command lines that take a command and say it again, where the program fails and where it does not."""
    (tmp_path / "app.py").write_text("import sys\nsys.exit(int(sys.argv[-1]))\n")
    secret = ["--api-token", "hunter2", "--password=hunter2", "MINE=hunter2"]
    for words in (["measure"], ["whatif"], ["apply", "--verify"], ["bake", "-o", "out"], ["explain-build", "m"]):
        for status in ("0", "3"):
            done = run_cli(*words, "--", sys.executable, "app.py", *secret, status, cwd=tmp_path, debug=False)
            assert done.returncode == 2, words
            assert "hunter2" not in done.stdout + done.stderr, words
            assert status == "0" or "--api-token '***' '--password=***'" in done.stderr, done.stderr


def test_home_becomes_a_tilde_and_comes_back() -> None:
    mask = Mask("/home/ada")
    data = {"/home/ada/x.py": ["/home/ada", "/home/adam/y.py", 3], "text": "at /home/ada/x.py:7"}
    masked = mask.paths(data)
    assert masked == {"~/x.py": ["~", "/home/adam/y.py", 3], "text": "at ~/x.py:7"}
    assert mask.expand(masked)["~/x.py".replace("~", "/home/ada")] == data["/home/ada/x.py"]


def test_a_home_at_the_root_hides_nothing() -> None:
    assert Mask("/").paths({"a": "/usr/lib"}) == {"a": "/usr/lib"}
