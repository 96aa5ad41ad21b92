"""What is going on during a measurement: one live line on a terminal, nothing where stderr is piped."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from warpfix.measure.read import Watch

_KEY = "warpfix.progress"
# "run 2 of 4 (warm, about 12 s to go)": the announcement of a run says what is left when it starts.
_LEFT = re.compile(r",? about (\d+) s(?: to go)?")
_RUN = re.compile(r"(?:^|: )run \d+")


class Progress:
    """Called with a line, it announces what is about to happen; ``watch`` follows a run through its logs.

    Args:
        terminal: Whether there is somebody to look; by default, whether stderr is a terminal.
    """

    def __init__(self, terminal: bool | None = None) -> None:
        self.terminal = sys.stderr.isatty() if terminal is None else terminal
        self._announced = ""
        self._left: float | None = None
        self._status: Any = None
        self._watch: Watch | None = None
        self._logs: Path | None = None

    def __call__(self, line: str) -> None:
        """Announce: a run goes into the live line, anything else stays on the screen."""
        if not self.terminal:
            return
        self.stop()
        if not _RUN.search(line):
            print(f"warpfix: {line}", file=sys.stderr)
            return
        found = _LEFT.search(line)
        self._left = float(found[1]) if found else None
        self._announced = _LEFT.sub("", line)

    def watch(self, logs: Path | None, elapsed: float) -> None:
        """Show a run that has gone on for ``elapsed`` seconds; no logs: it has ended."""
        if not self.terminal:
            return
        if logs is None:
            self.stop()
            return
        if elapsed < 1.0:
            return
        from rich.text import Text

        from warpfix.measure.read import Watch

        if self._watch is None or logs != self._logs:
            self._watch, self._logs = Watch(logs), logs
        self._watch.idle()
        text = Text(self.line(elapsed, self._watch.built, self._watch.building), no_wrap=True, overflow="ellipsis")
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(text, spinner="line")
            self._status.start()
        self._status.update(text)

    def line(self, elapsed: float, built: int, building: list[str]) -> str:
        """The live line: sample, state, seconds, builds, what is being built, time left."""
        parts = [self._announced or "running", f"{elapsed:.0f} s"]
        parts.append(f"{built} build{'' if built == 1 else 's'}")
        if self._left is not None:
            left = self._left - elapsed
            parts.append(f"about {left:.0f} s to go" if left >= 1 else "nearly there")
        if building:
            parts.append("building " + ", ".join(building[:2]) + (" ..." if len(building) > 2 else ""))
        return " - ".join(parts)

    def stop(self) -> None:
        """Take the live line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def progress() -> Progress:
    """The progress of the command that is being called."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Progress()
    found: Progress = context.meta.setdefault(_KEY, Progress())
    return found
