"""The ledger of ``warpfix whatif`` as the page shows it: one row of text for each lever."""

from __future__ import annotations

from typing import Any

from warpfix.measure.words import size
from warpfix.verify.verdict import Totals
from warpfix.whatif.ledger import PRICED, Entry, Ledger

_COLUMNS = ["lever", "effect", "builds", "source", "module time", "what speaks against it, and how to take it"]
_EFFECT = {
    "better": "saves",
    "worse": "costs",
    "mixed": "saves and costs",
    "none": "no difference",
    "unknown": "unknown",
}


def ledger_view(ledger: Ledger) -> dict[str, Any]:
    """``columns``, ``rows`` and ``notes`` for ``warpfix.page.view``."""
    arms = [entry.arms for entry in ledger.entries if entry.arms]
    rows = []
    if arms:
        before = max((arm[0] for arm in arms), key=lambda arm: len(arm.builds))
        rows.append(["as it stands", "", *_cells(before), ""])
    rows += [_row(entry) for entry in ledger.entries]
    notes = [f"Overlapping builds could shorten them by a factor of {ledger.bound:.1f} at most."]
    notes.append(
        f"{ledger.samples} cold run{'s' if ledger.samples != 1 else ''} of each, interleaved; ± is the noise band."
    )
    if ledger.cut_short:
        notes.append("--max-time ended the sampling: some levers have fewer samples, or none.")
    return {"columns": _COLUMNS, "rows": rows, "notes": notes}


def _row(entry: Entry) -> list[str]:
    effect = _EFFECT[entry.effect] if entry.status == PRICED else entry.status
    cells = _cells(entry.arms[1]) if entry.arms else ["", "", ""]
    said = [entry.reason, *entry.notes]
    if entry.status == PRICED:
        said += [entry.why_not, f"To take it: {entry.line} ({entry.where})" if entry.line else ""]
    return [entry.lever.name, effect, *cells, " ".join(one.rstrip(".") + "." for one in said if one)]


def _cells(arm: Totals) -> list[str]:
    builds = "/".join(str(number) for number in sorted(set(arm.builds)))
    source = size(max(arm.generated_bytes)) if arm.generated_bytes else ""
    time = f"{arm.module_ms.median:.0f} ms" if arm.module_ms.samples else ""
    if len(arm.module_ms.samples) > 1:
        time += f" ± {arm.module_ms.band:.0f}"
    return [builds, source, time]
