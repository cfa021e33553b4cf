"""Times that lie: a clock that is set back, files from the future, files of one and the same moment.

What was said last wins where that can be told; where it cannot, nothing is lost and nothing flickers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import pytest

from holdfast.testing import Compactions, Project

_YEAR = 365 * 24 * 3600.0


def stamp(project: Project, moment: float) -> None:
    """Give every file of the project the same time, as a checkout or a copy does."""
    for path in [each for each in project.root.rglob("*") if each.is_file()]:
        os.utime(path, (moment, moment))


def settled(project: Project, cycle: Compactions) -> dict[str, object]:
    """The state, once a save changes nothing any more; which is at once."""
    assert cycle.fire("PreCompact").code == 0
    (path,) = project.state_files()
    before = path.read_bytes()
    assert cycle().outcomes[0].code == 0
    assert path.read_bytes() == before
    state: dict[str, object] = json.loads(before)
    return state


MOMENTS: dict[str, Callable[[], float]] = {
    "now": time.time,
    "in the past": lambda: time.time() - _YEAR,
    "in the future": lambda: time.time() + _YEAR,
    "at the epoch": lambda: 0.0,
    "in whole seconds": lambda: float(int(time.time())),
    "beyond what a clock shows": lambda: 2.0**33,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_all_files_of_one_moment(
    moment: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Each edit is found by what it says, in markdown and by commands, not by when."""
    project, at = holdfast_project, MOMENTS[moment]()
    project.declare("W", phase="1/9 - A", reminders=["one"])
    compaction_cycle()
    for current in (2, 4, 6):
        project.declare("W", phase=f"{current}/9 - B", reminders=["one", f"md {current}"])
        stamp(project, at)
        state = settled(project, compaction_cycle)
        assert state["phase"]["current"] == current  # type: ignore[index]
        stamp(project, at)
        project.run("phase", "next")
        stamp(project, at)
        state = settled(project, compaction_cycle)
        assert state["phase"]["current"] == current + 1  # type: ignore[index]
        assert f"md {current}" in state["key_reminders"]  # type: ignore[operator]


@pytest.mark.parametrize("hours", [-1, -24 * 400, 24 * 400])
def test_a_clock_that_jumps(
    hours: int, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Work goes on across the jump and back; nothing is dropped, and nothing counts as stale."""
    project = holdfast_project
    project.run("start", "W", "--phases", "A,B,C,D", "--remind", "before", session="s")
    for number, jump in enumerate((hours, -hours), 1):
        project.clock.advance(hours=jump)
        project.run("phase", "next", session="s")
        project.run("remind", f"jump {number}", session="s")
        cycle = compaction_cycle(session="s")
        assert [each.code for each in cycle.outcomes] == [0, 0, 0]
        assert f"phase {number + 1} of 4" in cycle.guidance
    state = project.state()
    assert {"before", "jump 1", "jump 2"} <= set(state["key_reminders"])


def test_a_file_that_is_replaced_while_it_is_open(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """As network file systems leave a .nfs file behind, and editors a backup: neither is a state."""
    project = holdfast_project
    project.declare("W", phase="1/3 - A")
    compaction_cycle()
    (path,) = project.state_files()
    for name in (".nfs0000000000c0ffee00000001", f"{path.name}~", f".{path.name}.swp"):
        os.link(path, path.with_name(name))
    project.declare("W", phase="2/3 - B")
    assert compaction_cycle.fire("PreCompact").code == 0
    assert project.state()["phase"]["current"] == 2
    assert len(list(path.parent.iterdir())) == 4
