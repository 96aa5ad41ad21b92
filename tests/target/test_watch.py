"""A twin that is being built is no idleness: --stop-when-idle must not end the program there."""

from __future__ import annotations

import json
import time
from pathlib import Path

from warpfix.measure.read import Watch


def test_a_twin_under_way_is_work(tmp_path: Path) -> None:
    log = tmp_path / "1-1.jsonl"
    watch = Watch(tmp_path)
    log.write_text(json.dumps({"e": "twin-start", "module": "app"}) + "\n")
    time.sleep(0.02)
    assert watch.idle() == 0.0
    assert watch.building == ["app (to execute it)"]
    with log.open("a") as file:
        file.write(json.dumps({"e": "twin", "module": "app"}) + "\n")
    watch.idle()
    assert (watch.building, watch.built) == ([], 0)
    time.sleep(0.02)
    assert watch.idle() > 0.0
