"""Causes and effects from hand-made events: what is rare, or races, in real programs."""

from __future__ import annotations

from typing import Any

from warpfix.measure.causes import Explainer


def load(start: float = 0.0, end: float = 10.0, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "e": "load",
        "module": "app",
        "hash": "aa",
        "target": "cpu",
        "block_dim": 1,
        "outcome": "compiled",
        "options": {},
        "kernels": [],
        "start": start,
        "end": end,
        "thread": 0,
        "paid": ["/p/app.py", 3, "main"],
    }
    return {**event, **changes}


def kinds(*events: dict[str, Any]) -> list[str]:
    explainer = Explainer()
    return [explainer.explain(event).kind for event in events]


def test_threads_that_load_at_the_same_time_lost_no_cache() -> None:
    assert kinds(load(0, 10, thread=1), load(5, 20, thread=2)) == ["first-load", "concurrent"]
    assert kinds(load(0, 10, thread=1), load(12, 20, thread=2)) == ["first-load", "cache-lost"]
    assert kinds(load(0, 10, thread=1), load(12, 20, thread=1, outcome="cached")) == ["first-load", "cache-lost"]
