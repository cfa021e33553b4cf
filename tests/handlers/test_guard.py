"""The guard of state files: edits by hand are denied, and the commands are named instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import Compactions, Project
from holdfast.testing.simulate import Session

STATES = {
    "untracked/workflow-state/feature-x/state-feature-x-20260101_000000.json": "holdfast",
    ".claude/workflow-state/active/dev-1a2b3c4d.json": "holdfast skill",
    ".claude/workflow-state/completed/dev-1a2b3c4d.json": "holdfast skill",
    ".claude/workflow-state/index.json": "holdfast skill",
    "workflow/user-auth/workflow-state.json": "holdfast gate",
    "workflow/user-auth/03-implementation/status.json": "holdfast gate",
}


class Agent:
    """Is about to edit files, and is told what the hooks say to that."""

    def __init__(self, compactions: Compactions, cwd: Path | None = None) -> None:
        self.compactions = compactions
        self.cwd = cwd or compactions.project.root

    def edits(
        self, path: object, tool: str = "Edit", key: str = "file_path", **fields: object
    ) -> dict[str, Any]:
        who = Session("session-1", str(self.cwd))
        given = {key: str(path)}
        payload = who.payload("PreToolUse", tool_name=tool, tool_input=given, **fields)
        outcome = self.compactions.door(cwd=self.cwd).fire(payload)
        assert (outcome.code, outcome.stderr) == (0, "")
        reply: dict[str, Any] = json.loads(outcome.stdout or b"{}").get("hookSpecificOutput", {})
        return reply


@pytest.fixture
def agent(compaction_cycle: Compactions) -> Agent:
    return Agent(compaction_cycle)


def guard(project: Project, mode: str) -> None:
    project.write(".claude/holdfast.toml", f'guard = "{mode}"\n')


@pytest.mark.parametrize("there", [True, False], ids=["there", "not there yet"])
@pytest.mark.parametrize("path", STATES)
def test_every_formats_state_files_are_kept_by_its_commands(
    path: str, there: bool, holdfast_project: Project, agent: Agent
) -> None:
    guard(holdfast_project, "all")
    if there:
        holdfast_project.write(path, "{}")
    told = agent.edits(holdfast_project.root / path)
    assert told["permissionDecision"] == "deny"
    assert told["permissionDecisionReason"] == (
        f"{path} is a state file that is kept by the commands of `{STATES[path]}`. "
        f"Use them instead: `{STATES[path]} --help`."
    )
    told = agent.edits(path, agent_id="sub")
    assert "Report any change to the agent that called you" in str(told)


def test_what_each_mode_denies_to_whom(holdfast_project: Project, agent: Agent) -> None:
    """Off by default, and then neither is held back."""
    path = next(iter(STATES))
    assert (agent.edits(path), agent.edits(path, agent_id="sub")) == ({}, {})
    guard(holdfast_project, "subagents")
    assert agent.edits(path) == {}
    assert agent.edits(path, agent_id="sub")["permissionDecision"] == "deny"
    guard(holdfast_project, "all")
    assert agent.edits(path)["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ("Write", "file_path"),
        ("Edit", "file_path"),
        ("MultiEdit", "file_path"),
        ("NotebookEdit", "notebook_path"),
    ],
)
def test_every_tool_that_changes_files(
    tool: str, key: str, holdfast_project: Project, agent: Agent
) -> None:
    guard(holdfast_project, "all")
    assert agent.edits(next(iter(STATES)), tool, key)["permissionDecision"] == "deny"
    assert agent.edits(next(iter(STATES)), "Read", key) == {}


@pytest.mark.parametrize(
    "path",
    [
        "untracked/workflow-state/notes.md",
        "workflow/user-auth/01-requirements/requirements.md",
        "workflow/user-auth/01-requirements/reviews/status.json",
        "workflow/user-auth/build/status.json",
        "docs/workflow/user-auth/workflow-state.json",
        "workflow-state.json",
        "",
        "\ud800.json",
    ],
)
def test_what_is_no_state_file_is_left_alone(
    path: str, holdfast_project: Project, agent: Agent
) -> None:
    guard(holdfast_project, "all")
    assert agent.edits(path, agent_id="sub") == {}


def test_a_path_counts_by_where_it_leads(holdfast_project: Project, agent: Agent) -> None:
    """Relative to a folder below, through "..", through a link to the file or to its folder."""
    guard(holdfast_project, "all")
    state = holdfast_project.write("workflow/user-auth/workflow-state.json", "{}")
    below = holdfast_project.root / "src" / "deep"
    below.mkdir(parents=True)
    (holdfast_project.root / "state").symlink_to(state)
    (below / "flow").symlink_to(holdfast_project.root / "workflow", target_is_directory=True)
    inside = Agent(agent.compactions, below)
    holdfast_project.git("init", "-q")
    for path in (
        "../../workflow/user-auth/workflow-state.json",
        "flow/user-auth/workflow-state.json",
        "flow/../workflow/user-auth/workflow-state.json",  # as the folders lie
        "flow/../../../workflow/user-auth/workflow-state.json",  # as the text says
        "../../state",
    ):
        assert inside.edits(path).get("permissionDecision") == "deny", path


def test_a_state_that_is_a_link_is_a_state(
    holdfast_project: Project, agent: Agent, tmp_path: Path
) -> None:
    """An edit would replace the link."""
    guard(holdfast_project, "all")
    outside = tmp_path / "elsewhere.json"
    outside.write_text("{}", encoding="utf-8")
    path = holdfast_project.root / "workflow" / "user-auth" / "workflow-state.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert agent.edits(path)["permissionDecision"] == "deny"
    assert agent.edits(outside) == {}


def test_who_may_switch_it_on(holdfast_project: Project, agent: Agent) -> None:
    """It only denies more, so a project may; not where the user has switched it off."""
    path = next(iter(STATES))
    users = holdfast_project.home / ".config" / "holdfast" / "holdfast.toml"
    users.parent.mkdir(parents=True)
    users.write_text('guard = "all"\n', encoding="utf-8")
    assert agent.edits(path)["permissionDecision"] == "deny"
    users.write_text('guard = "off"\n', encoding="utf-8")
    guard(holdfast_project, "all")
    assert agent.edits(path) == {}
    users.write_text("enabled = false\n", encoding="utf-8")
    assert agent.edits(path) == {}


def test_a_denial_is_logged(holdfast_project: Project, agent: Agent) -> None:
    """As often as it is said; it never lets go, because there is a command for it."""
    guard(holdfast_project, "subagents")
    path = "workflow/user-auth/workflow-state.json"
    for _ in range(5):
        assert agent.edits(path, agent_id="sub")["permissionDecision"] == "deny"
    records = json.loads(holdfast_project.run("log", "--json").stdout)
    assert [each["decided"] for each in records] == [f"denied Edit: {path} is guarded"] * 5
