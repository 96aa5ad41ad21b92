"""What ``--target`` names: the devices that Warp finds, or an emulated CUDA device of one architecture.

Which architectures there are is a question to the Warp of the measured environment: its answer comes from the probe,
before the program runs.
"""

from __future__ import annotations

import re

from warpfix.errors import WarpfixError

NATIVE = "native"
_SUFFIXED = re.compile(r"sm_\d+[a-z]+")
_CUDA = re.compile(r"sm_\d{2,3}")


def parse_target(text: str) -> str:
    """A target as the rest of warpfix writes it.

    Args:
        text: ``native``, or ``sm_90`` and the like.

    Raises:
        WarpfixError: It is neither.
    """
    if text == NATIVE or _CUDA.fullmatch(text):
        return text
    if _SUFFIXED.fullmatch(text):
        plain = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        raise WarpfixError(f"--target {text}: name {plain}; a suffix is the program's own wp.config.cuda_arch_suffix")
    raise WarpfixError(f"--target {text}: name native (the devices Warp finds), or an architecture such as sm_90")


def is_emulated(target: str) -> bool:
    """Whether a target is an emulated CUDA device."""
    return target != NATIVE
