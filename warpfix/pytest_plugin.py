"""The pytest plugin: fixture ``warpfix_builds``, marker ``warpfix_budget(N)``, option ``--warpfix-budget``.

Nothing of warpfix is imported, and nothing of Warp touched, before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from warpfix.observe import Builds

_SHOWN = 10
_PROPERTY = "warpfix_builds"
# Whoever installs warpfix has the plugin, whatever their pytest: it must load there, and say so when it is asked.
_OLD = getattr(pytest, "version_tuple", (0,)) < (8,)
_TOO_OLD = "warpfix counts builds with pytest 8 or newer"
_KEY: Any = getattr(pytest, "StashKey", object)
_BUILDS: Any = _KEY()
_RUNNING: Any = _KEY()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--warpfix-budget``."""
    group = parser.getgroup("warpfix")
    group.addoption(
        "--warpfix-budget",
        action="store_true",
        help="Enforce @pytest.mark.warpfix_budget(N), and list the tests that build most Warp modules.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    if _OLD and config.getoption("warpfix_budget"):
        raise pytest.UsageError(_TOO_OLD)
    config.addinivalue_line(
        "markers",
        "warpfix_budget(n): with --warpfix-budget, the test fails if it builds more than n Warp modules, cold",
    )


@pytest.fixture
def warpfix_builds(request: pytest.FixtureRequest) -> Generator[Builds, None, None]:
    """The Warp modules that this test builds, from its first line on, as if all caches were empty.

    A sequence with the properties ``modules`` and ``rebuilds``: ``assert len(warpfix_builds) <= 2``. Printed, it lists
    each build with its cause, its line, and the launch that waited.
    """
    from warpfix.observe import Builds, building, measured

    if _OLD:
        pytest.fail(_TOO_OLD, pytrace=False)
    item = request.node
    if measured():
        pytest.skip("warpfix measures this process already")
    if not item.stash.get(_RUNNING, False):
        # Watched from the first line of the test on; what fixtures build may depend on the tests before.
        yield item.stash.setdefault(_BUILDS, Builds())
    elif item.stash.get(_BUILDS, None) is not None:
        yield item.stash[_BUILDS]
    else:
        with building() as builds:
            yield builds


def _watched_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch a test that has asked for it, and hold a marked one against its budget once it has passed."""
    marker = item.get_closest_marker("warpfix_budget")
    enforced = marker is not None and item.config.getoption("warpfix_budget")
    asked = item.stash.get(_BUILDS, None) is not None
    item.stash[_RUNNING] = True
    if not enforced and not asked:
        return (yield)
    from warpfix.observe import Builds, building, measured

    if measured():
        return (yield)
    builds = item.stash.setdefault(_BUILDS, Builds())
    allowed = _allowed(marker) if marker is not None else 0
    with building(builds):
        done = yield
    if enforced:
        item.user_properties.append((_PROPERTY, len(builds)))
        if len(builds) > allowed:
            pytest.fail(f"the budget of this test is {allowed}, and it took {builds!r}", pytrace=False)
    return done


if not _OLD:
    pytest_runtest_call = pytest.hookimpl(wrapper=True)(_watched_call)


def _allowed(marker: pytest.Mark) -> int:
    values = [*marker.args, *marker.kwargs.values()]
    if len(values) != 1 or not isinstance(values[0], int) or set(marker.kwargs) - {"n"}:
        pytest.fail("@pytest.mark.warpfix_budget takes one number: how many modules the test may build", pytrace=False)
    return int(values[0])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """With ``--warpfix-budget``: the marked tests that built most."""
    if not config.getoption("warpfix_budget"):
        return
    found: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, number in report.user_properties:
                    if name == _PROPERTY:
                        found[report.nodeid] = int(number)
    terminalreporter.write_sep("=", "Warp modules built")
    if not found:
        terminalreporter.write_line("no test with @pytest.mark.warpfix_budget(N) ran")
    for name, number in sorted(found.items(), key=lambda one: (-one[1], one[0]))[:_SHOWN]:
        terminalreporter.write_line(f"{number:5}  {name}")
