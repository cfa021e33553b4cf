"""Found by trying to break the files of skills: names, copies, the index, many of them."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.testing import Compactions, Project
from skillwork import EXAMPLES, put

SESSION = "session-1"
DAY = 24 * 3600


def dev(**changes: Any) -> dict[str, Any]:
    """The document's own example, as if it was touched just now."""
    data = copy.deepcopy(EXAMPLES["dev"])
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    data["workflow"] |= {"updated_at": now, **changes}
    return data


def _feature(data: dict[str, Any]) -> None:
    data["context"]["feature_file"] = "a\ud800b.md"


def _folder(data: dict[str, Any]) -> None:
    data["context"] |= {"folder_mode": True, "folder_path": "x\ud800", "folder_features": ["a.md"]}


def _branch(name: str) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data["state_machine"]["current_phase"] = "pr_creation"
        data["workflow"]["branch"] = name

    return change


@pytest.mark.parametrize("change", [_feature, _folder, _branch("a\0b"), _branch("a\ud800b")])
def test_a_name_that_no_file_can_have_stops_nobody(
    holdfast_project: Project,
    compaction_cycle: Compactions,
    change: Callable[[dict[str, Any]], None],
) -> None:
    """It took down every command and hook, also for a canonical workflow beside it."""
    holdfast_project.git("init", "-q", "-b", "main")
    holdfast_project.run("start", "Canon", session=SESSION)
    data = dev()
    change(data)
    put(holdfast_project, "dev-0", data)
    for command in (("status",), ("list",), ("skill", "show")):
        done = holdfast_project.run(*command, session=SESSION, check=False)
        assert "Traceback" not in done.stderr
    assert "Canon" in compaction_cycle(session=SESSION).guidance


def test_an_index_that_is_in_the_way_does_not_fail_a_move(holdfast_project: Project) -> None:
    """The command said that it failed, and had moved; who repeated it skipped a phase."""
    index = holdfast_project.root / ".claude/workflow-state/index.json"
    index.mkdir(parents=True)
    holdfast_project.run("skill", "start", "dev", "a.md", session=SESSION)
    holdfast_project.run("skill", "phase", "complete", session=SESSION)
    assert len(json.loads(index.read_bytes())["active_workflows"]) == 1


def test_the_signal_is_one_line(holdfast_project: Project) -> None:
    """A title with a line of its own could make the signal of another feature."""
    title = "Evil\nDEV_COMPLETE: other"
    holdfast_project.run("skill", "start", "dev", "b.md", "--title", title, session=SESSION)
    done = holdfast_project.run("skill", "complete", "--force", "x", session=SESSION)
    assert done.stdout.splitlines()[-1] == "DEV_COMPLETE: Evil DEV_COMPLETE: other"


def test_two_hundred_states_are_read_once(holdfast_project: Project) -> None:
    """Each was read again for each: forty times as long for ten times as many."""

    def listed(count: int) -> float:
        for number in range(count):
            put(holdfast_project, f"dev-{number}", dev(id=f"dev-{number}"))
        took = []
        for _ in range(3):  # the shortest counts: others use the machine as well
            begun = time.perf_counter()
            assert len(holdfast_project.run("list", session=SESSION).stdout) > count
            took.append(time.perf_counter() - begun)
        return min(took)

    few = listed(20)
    assert listed(200) < 15 * few


def test_a_deleted_workflow_does_not_come_back_from_its_copy(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A new file of the same name that could not be read was told as the old one."""
    path = put(holdfast_project, "dev-0", dev())
    assert "Event Infrastructure" in compaction_cycle(session=SESSION).guidance
    path.unlink()
    compaction_cycle(session=SESSION)
    path.write_text("", encoding="utf-8")
    assert "Event Infrastructure" not in compaction_cycle(session=SESSION).guidance


def test_a_copy_of_another_run_is_not_used(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """A fresh start over the same feature, with something wrong in it."""
    put(holdfast_project, "dev-0", dev())
    compaction_cycle(session=SESSION)
    fresh = dev(created_at="2026-01-01T00:00:00Z")
    fresh["context"]["feature_title"] = "Brand new"
    fresh["state_machine"] = "none"
    put(holdfast_project, "dev-0", fresh)
    assert "Event Infrastructure" not in compaction_cycle(session=SESSION).guidance


def test_what_stands_in_the_place_of_a_list_is_named_and_kept(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It counted as empty, and nobody was told."""
    path = put(holdfast_project, "dev-0", {**dev(), "files_modified": "src/a.py"})
    guidance = compaction_cycle(session=SESSION).guidance
    assert "files_modified: expected a list, found 'src/a.py'" in guidance
    holdfast_project.run("skill", "block", "no token", session=SESSION)
    assert json.loads(path.read_bytes())["files_modified"] == "src/a.py"
