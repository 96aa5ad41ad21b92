"""What ``try`` and ``apply --verify`` measured, as the two arms of a page."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

from warpfix.errors import WarpfixError
from warpfix.measure.profile import Profile
from warpfix.page import page
from warpfix.page.verified import applied_arms, tried_arms
from warpfix.verify.engine import Applied, Tried
from warpfix.verify.lab import Job, Judgement
from warpfix.verify.reports import compare_reports
from warpfix.verify.verdict import Status


def job(profile: Profile, text: str = "") -> Job:
    return Job(profile.command, profile.target, text or shlex.join(profile.command))


def judged(before: Profile, after: Profile, *, ran: bool = True) -> Judgement:
    verdict = dataclasses.replace(compare_reports(before, after), status=Status.GOOD)
    text = job(before).text
    return Judgement(Status.GOOD, {text: verdict, "other.py": verdict}, {text: after.runs} if ran else {})


def test_try(profile: Profile, mended: Profile) -> None:
    tried = Tried(judged(profile, mended), (), {}, {job(profile): profile})
    before, comparison = tried_arms(tried)
    assert before is profile and comparison is not None and comparison.after is not None
    assert len(comparison.after.cold[0].builds) == 4
    text = page(before, comparison)
    assert "The start, before" in text and "The start, after" in text
    assert "Also measured: other.py: good" in text


def test_a_candidate_that_never_ran(profile: Profile, mended: Profile) -> None:
    before, comparison = tried_arms(Tried(judged(profile, mended, ran=False), (), {}, {job(profile): profile}))
    assert comparison is not None and comparison.after is None
    text = page(before, comparison)
    assert "Before against after" in text and "The start, after" not in text


def test_apply(profile: Profile, mended: Profile) -> None:
    applied = Applied(status="written", judgement=judged(profile, mended), baseline={job(profile): profile})
    applied.written = ("app.py",)
    text = page(*applied_arms(applied))
    assert "Written: 1 file: builds 5 -&gt; 4" in text


def test_nothing_to_do_shows_what_was_measured(profile: Profile) -> None:
    before, comparison = applied_arms(Applied(baseline={job(profile): profile}))
    assert comparison is None and "Modules by cost" in page(before, comparison)


def test_nothing_was_measured() -> None:
    with pytest.raises(WarpfixError, match="no command was measured"):
        applied_arms(Applied())
