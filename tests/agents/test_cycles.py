"""A whole compaction under each agent, through real processes, with what was captured of it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from asking import EVERY, Asking, log_of

from holdfast import agents
from holdfast.testing import MovableClock, Project

HEADING = "# Workflow restored after the compaction: Work"


def begun(name: str, project: Project, **how: bool) -> Asking:
    """A session that has started, and was told so."""
    asking = EVERY[name](project, **how)
    asking.fire("SessionStart", source="startup")
    asking.prompt()
    return asking


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("name", agents.NAMES)
def test_the_guidance_comes_once_after_each_compaction(
    name: str, told: bool, work: Project
) -> None:
    """With the reading: in parts, or in one with the guidance. Whoever asks is told or recognised."""
    asking = begun(name, work, told=told)
    for trigger in ("manual", "auto"):
        note = asking.compacts(trigger)
        assert note.code == 0
        assert (b"No network" in note.stdout) == (name in {"claude", "qwen", "opencode"})
        guidance = asking.restored()
        assert guidance.startswith(HEADING)
        assert guidance.count(HEADING) == 1
        inline = "The guide, <kept> whole." in guidance
        assert inline == (name in {"copilot", "gemini"} or (name == "opencode" and told))
        if told or not inline:  # whoever is not registered by us has no hooks for parts
            part = asking.context(asking.fire("SessionStart", "--part", "1", source="compact"))
            assert inline == (not part)
        assert asking.context(asking.prompt()) == ""


@pytest.mark.parametrize("name", agents.NAMES)
def test_a_compaction_is_counted_once(name: str, work: Project) -> None:
    """At the event that tells of it, whichever that is."""
    asking = begun(name, work)
    for count in (1, 2):
        asking.compacts()
        asking.restored()
        asking.prompt()
        told = json.loads(work.run("status", "--json", session=asking.session).stdout)
        assert told["compactions"]["count"] == count


@pytest.mark.parametrize("name", agents.NAMES)
def test_the_log_tells_what_came_and_with_which_event(name: str, work: Project) -> None:
    """And who asked."""
    asking = begun(name, work)
    asking.compacts()
    asking.restored()
    told = [each for each in log_of(work) if str(each["decided"]).startswith("restored 'Work'")]
    event = "UserPromptSubmit" if name in {"copilot", "gemini"} else "SessionStart"
    assert [(each["event"], each["source"], each["agent"]) for each in told] == [
        (event, "compact", name)
    ]


class StandingClock(MovableClock):
    """Stands still between the steps of a story."""

    def __init__(self) -> None:
        super().__init__()
        self._at = datetime(2026, 11, 18, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self._at + self._moved

    @property
    def moved(self) -> bool:
        return True


def story(project: Project, name: str) -> dict[str, bytes]:
    """The same work under one agent, at the same moments; the files that it leaves."""

    def declare(phase: str, reminder: str) -> None:
        project.clock.advance(hours=1)
        path = project.declare("Work", phase=phase, reading=["@docs/a.md"], reminders=[reminder])
        at = project.clock.now().timestamp()
        for each in (path, project.write("docs/a.md", f"{phase}\n")):
            os.utime(each, (at, at))
        project.clock.advance(hours=1)

    declare("1/4 - Plan", "No network")
    asking = begun(name, project)
    asking.compacts()
    asking.restored()
    declare("2/4 - Build", "No network")
    asking.compacts("auto")
    asking.restored()
    project.run("phase", "next", session=asking.session)
    declare("3/4 - Try", "Be brief")
    asking.compacts()
    folders = [project.root / "untracked", project.root / ".claude"]
    files = [each for folder in folders for each in folder.rglob("*") if each.is_file()]
    return {str(each.relative_to(project.root)): each.read_bytes() for each in files}


def test_state_files_are_the_same_whichever_agent_asked(tmp_path: Path) -> None:
    """To the byte: a workflow may go on under another agent."""
    left = {}
    for name in agents.NAMES:
        # At the same place, since a state may name it.
        place = tmp_path / "place"
        left[name] = story(Project(place / "project", place / "home", StandingClock()), name)
        place.rename(tmp_path / name)
    assert any("state-work" in path for path in left["claude"])
    for name in agents.NAMES[1:]:
        assert left[name] == left["claude"], name


def test_a_workflow_goes_from_one_agent_to_the_next(work: Project) -> None:
    """Each takes it up where the one before left it."""
    work.declare("Work", phase="1/5 - Plan")
    for number, name in enumerate(("claude", "codex", "opencode", "gemini"), 1):
        asking = begun(name, work)
        asking.session = f"session-of-{name}"
        asking.compacts()
        assert f"phase {number} of 5" in asking.restored()
        work.run("phase", "next", session=asking.session)
    assert work.state()["phase"]["current"] == 5
