"""The ledger of whatif as rows of a page."""

from __future__ import annotations

from warpfix.measure.profile import Profile
from warpfix.page import page
from warpfix.page.ledger import ledger_view
from warpfix.verify.reports import compare_reports
from warpfix.whatif.ledger import PRICED, REFUSED, Entry, Ledger
from warpfix.whatif.levers import parse


def test_each_lever_is_a_row(profile: Profile, mended: Profile) -> None:
    priced = Entry(
        parse("max_unroll=4"),
        PRICED,
        verdict=compare_reports(profile, mended),
        why_not="loops stay loops",
        line="wp.config.max_unroll = 4",
        where="app.py:1",
    )
    refused = Entry(parse("enable_backward=off"), REFUSED, reason="an adjoint is launched")
    data = ledger_view(Ledger(profile, 2, (priced, refused), cut_short=True))
    assert [len(row) for row in data["rows"]] == [len(data["columns"])] * 3
    stands, first, second = data["rows"]
    assert stands[:3] == ["as it stands", "", "5"]
    assert first[0] == "max_unroll=4" and first[2] == "4"
    assert first[-1] == "loops stay loops. To take it: wp.config.max_unroll = 4 (app.py:1)."
    assert second == ["enable_backward=off", "refused", "", "", "", "an adjoint is launched."]
    assert any("--max-time" in note for note in data["notes"])
    text = page(profile, ledger=data)
    assert "Levers not taken" in text and "an adjoint is launched." in text
