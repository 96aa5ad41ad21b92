from __future__ import annotations

import pytest

from warpfix.measure.privacy import Mask, mask_arguments


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


def test_home_becomes_a_tilde_and_comes_back() -> None:
    mask = Mask("/home/ada")
    data = {"/home/ada/x.py": ["/home/ada", "/home/adam/y.py", 3], "text": "at /home/ada/x.py:7"}
    masked = mask.paths(data)
    assert masked == {"~/x.py": ["~", "/home/adam/y.py", 3], "text": "at ~/x.py:7"}
    assert mask.expand(masked)["~/x.py".replace("~", "/home/ada")] == data["/home/ada/x.py"]


def test_a_home_at_the_root_hides_nothing() -> None:
    assert Mask("/").paths({"a": "/usr/lib"}) == {"a": "/usr/lib"}
