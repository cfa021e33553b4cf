"""Agents of a run: sent off once, heard of, and marked when they are silent."""

from __future__ import annotations

import pytest

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import checkpoints, tasks
from holdfast.formats.orchestrator.model import State
from holdfast.testing import Project
from orchestrated import change, example, place, put, run_of, state


def silent(project: Project) -> list[str]:
    """The tasks of the agents that are told as silent."""
    now = project.clock.now()
    heard = tasks.last_heard(place(project).store, run_of(project).state)
    return [agent.task for agent, at in heard if tasks.is_silent(at, now)]


def start(project: Project, task: str, kind: str = "task-executor") -> None:
    change(project, tasks.start_agent, kind, task)


def iterate(state: State, at: str) -> State:
    """What an iteration of an agent changes."""
    after = state.model_copy(deep=True)
    after.active_agents[0].iteration += 1
    return after


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    data = {**example(), "active_agents": []}
    data["safety_bounds"]["max_time"] = None  # it began long ago
    put(holdfast_project, data)
    return holdfast_project


def test_an_agent_is_sent_off_once(project: Project) -> None:
    """Another kind may work on the same task."""
    start(project, "2.1")
    with pytest.raises(IllegalMove, match=r"is already at work on task 2\.1"):
        start(project, "2.1")
    start(project, "2.1", "supervisor")
    with pytest.raises(IllegalMove, match=r"1\.1 is completed"):
        start(project, "1.1")
    start(project, "1.1", "supervisor")
    (first, *_) = state(project)["active_agents"]
    assert first == {
        "type": "task-executor",
        "task": "2.1",
        "started": first["started"],
        "iteration": 0,
        "status": "in_progress",
    }


def test_one_that_is_silent_for_half_an_hour_is_marked_and_stays(project: Project) -> None:
    """Only the orchestrator knows whether it is gone."""
    start(project, "2.1")
    project.clock.advance(seconds=29 * 60)
    assert silent(project) == []
    project.clock.advance(seconds=120)
    assert silent(project) == ["2.1"]
    assert len(state(project)["active_agents"]) == 1


def test_any_change_of_its_entry_is_a_sign_of_life(project: Project) -> None:
    """Only of that agent."""
    start(project, "2.1")
    start(project, "2.2")
    project.clock.advance(seconds=20 * 60)
    change(project, iterate)
    assert silent(project) == []
    project.clock.advance(seconds=20 * 60)
    change(project, tasks.set_agent_status, "waiting", "2.1", None)
    assert silent(project) == ["2.2"]
    assert state(project)["active_agents"][0]["status"] == "waiting"


def test_one_of_another_tool_without_a_time_is_not_marked(project: Project) -> None:
    """We cannot know when it was started."""
    put(project, {**example(), "active_agents": [{"task": "2.1"}, "2.2"]})
    project.clock.advance(days=2)
    assert silent(project) == []


def test_going_back_is_no_sign_of_life(project: Project) -> None:
    """An agent of the snapshot has probably ended long ago."""
    start(project, "2.1")
    change(project, iterate)
    checkpoints.take(place(project))
    change(project, tasks.end_agent, "2.1", None)
    project.clock.advance(seconds=40 * 60)
    checkpoints.restore(place(project))
    assert silent(project) == ["2.1"]


def test_which_agent_is_meant(project: Project) -> None:
    """A single agent need not be named; if there are several, the message lists them."""
    with pytest.raises(IllegalMove, match="no such agent"):
        change(project, tasks.end_agent, None, None)
    start(project, "2.1")
    start(project, "2.1", "supervisor")
    with pytest.raises(IllegalMove, match=r"task-executor on 2\.1, supervisor on 2\.1"):
        change(project, tasks.end_agent, "2.1", None)
    change(project, tasks.end_agent, "2.1", "supervisor")
    change(project, tasks.end_agent, None, None)
    assert state(project)["active_agents"] == []
