"""Plans that nobody follows: where they are found, what is said of them, and how one comes to be followed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import Compactions, MovableClock, Project
from holdfast.testing.simulate import InSubprocess, Session, encode, read_reply

TICKED = (
    "# Shop\n\n## Phase 1: Cart\n- [x] Add\n\n## Phase 2: Till\n- [ ] Pay\n\n## Phase 3: Post\n"
)
RUNNING = TICKED.replace("# Shop\n", "# Shop\n\nStatus: in progress\n")
OFFER = "PLAN.md looks like a plan (1 of 3 done) and is not followed: `holdfast follow PLAN.md`"


def status(project: Project, session: str = "session-1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.run("status", "--json", session=session).stdout)
    return found


def candidates(project: Project, session: str = "session-1") -> list[str]:
    return [plan["path"] for plan in status(project, session)["candidates"]]


def active(project: Project, session: str = "session-1") -> str | None:
    workflow = status(project, session)["workflow"]
    return workflow and workflow["briefing"]["name"]


def said(compactions: Compactions, source: str, session: str = "session-1") -> str:
    """What a start of *session* shows to the person."""
    who = Session(session, str(compactions.project.root))
    reply = read_reply(compactions.door().fire(who.session_start(source)))
    return str(reply.get("systemMessage", ""))


def used(compactions: Compactions, tool: str, path: str, **more: Any) -> None:
    """The session has used *tool* on the file at *path*."""
    given = {"file_path": str(compactions.project.root / path)}
    fields = {"tool_name": tool, "tool_input": given, "tool_response": {}, **more}
    assert compactions.fire("PostToolUse", **fields) == (b"", "", 0)


def test_a_candidate_is_named_wherever_somebody_looks(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", TICKED)
    assert status(holdfast_project)["workflow"] is None
    assert status(holdfast_project)["candidates"] == [{"path": "PLAN.md", "why": "1 of 3 done"}]
    for command in ("status", "why"):
        assert OFFER in holdfast_project.run(command).stdout
    found = json.loads(holdfast_project.run("doctor", "--json", check=False).stdout)["findings"]
    (plan,) = [finding for finding in found if finding["check"] == "plan"]
    assert plan["level"] == "note"
    assert "holdfast follow PLAN.md" in plan["fix"]


def test_the_person_is_told_once_a_session(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    holdfast_project.write("PLAN.md", TICKED)
    assert said(compaction_cycle, "startup") == OFFER
    assert said(compaction_cycle, "compact") == ""
    assert said(compaction_cycle, "startup", "session-2") == OFFER


def test_beside_a_workflow_the_person_is_told_once_too(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Also where the answer was prepared."""
    holdfast_project.declare("W")
    holdfast_project.write("TODO.md", TICKED)
    offer = OFFER.replace("PLAN.md", "TODO.md")
    assert compaction_cycle().message.count(offer) == 1
    assert offer not in compaction_cycle().message
    assert "W" in compaction_cycle().guidance


def test_of_several_candidates_one_is_named_and_the_others_counted(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    for name in ("TODO.md", "docs/plan-b.md", "PLAN.md"):
        holdfast_project.write(name, TICKED)
        time.sleep(0.02)
    assert said(compaction_cycle, "startup") == f"{OFFER}; so do 2 more: `holdfast status`"
    assert candidates(holdfast_project) == ["PLAN.md", "docs/plan-b.md", "TODO.md"]


@pytest.mark.parametrize("tool", ["Write", "Edit", "Read"])
def test_a_session_that_works_on_a_candidate_follows_it(
    tool: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    holdfast_project.write("PLAN.md", TICKED)
    used(compaction_cycle, tool, "PLAN.md")
    assert (active(holdfast_project), candidates(holdfast_project)) == ("Shop", [])
    assert 'The workflow "Shop" (type custom) is in phase 2 of 3' in compaction_cycle().guidance
    holdfast_project.write("PLAN.md", TICKED.replace("[ ]", "[x]"))
    assert "is in phase 3 of 3" in compaction_cycle().guidance


def test_a_shell_command_that_changed_a_candidate_is_work_on_it(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    holdfast_project.write("docs/plan.md", TICKED)
    given = {"command": "sed -i s/a/b/ docs/plan.md"}
    fields = {"tool_name": "Bash", "tool_input": given, "tool_response": {}}
    assert compaction_cycle.fire("PostToolUse", **fields) == (b"", "", 0)
    assert active(holdfast_project) == "Shop"


def test_to_read_a_plan_takes_no_session_from_its_workflow(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    holdfast_project.declare("W")
    holdfast_project.write("TODO.md", TICKED)
    compaction_cycle()
    used(compaction_cycle, "Read", "TODO.md")
    used(compaction_cycle, "Edit", "TODO.md", agent_id="a-subagent")
    assert (active(holdfast_project), candidates(holdfast_project)) == ("W", ["TODO.md"])


def test_a_plan_that_is_read_is_noticed_by_the_fast_tier(holdfast_project: Project) -> None:
    """It lets calls go whose answers are prepared, and saw no plan that was read."""
    door = InSubprocess(holdfast_project.environment("session-1"), str(holdfast_project.root))
    who = Session("session-1", str(holdfast_project.root))

    def read(path: str) -> None:
        given = {"file_path": str(holdfast_project.root / path)}
        payload = who.payload("PostToolUse", tool_name="Read", tool_input=given, tool_response={})
        assert door.fire(payload) == (b"", "", 0)

    holdfast_project.write("PLAN.md", TICKED)
    holdfast_project.write("other.md", "# Other\n")
    read("other.md")  # after which the answers to tool calls are prepared
    read("other.md")
    assert active(holdfast_project) is None
    read("PLAN.md")
    assert active(holdfast_project) == "Shop"


def test_what_one_session_follows_goes_on_in_the_next(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Its state is there, and an edit of the plan still reaches it."""
    holdfast_project.write("PLAN.md", TICKED)
    used(compaction_cycle, "Edit", "PLAN.md")
    holdfast_project.write("PLAN.md", TICKED.replace("[ ]", "[x]"))
    assert "is in phase 3 of 3" in compaction_cycle(session="session-2").guidance
    holdfast_project.clock.advance(days=8)
    assert active(holdfast_project, "session-3") is None


def test_follow_and_unfollow_are_remembered_and_leave_the_file(holdfast_project: Project) -> None:
    path = holdfast_project.write("docs/roadmap.md", TICKED)
    told = holdfast_project.run("follow", "docs/roadmap.md").stdout
    assert told == "Workflow followed: Shop, phase 2/3 (Till). Next: Pay\n"
    assert active(holdfast_project, "another") == "Shop"
    holdfast_project.run("unfollow", "docs/roadmap.md")
    assert (active(holdfast_project, "another"), candidates(holdfast_project)) == (None, [])
    assert path.read_text() == TICKED
    holdfast_project.run("follow", str(path))
    assert active(holdfast_project, "another") == "Shop"


@pytest.mark.parametrize("command", [["ignore", "Shop"], ["unfollow", "PLAN.md"]])
def test_unfollow_and_ignore_left_different_records_and_hints(
    command: list[str], holdfast_project: Project
) -> None:
    """`list` said "holdfast resume", which found nothing where no hook had saved the workflow yet."""
    holdfast_project.write("PLAN.md", RUNNING)
    hint = "To resume it: holdfast resume 'Shop'"
    assert hint in holdfast_project.run(*command).stdout
    assert hint in holdfast_project.run("list").stdout
    record = holdfast_project.root / ".claude/holdfast/ledger.json"
    assert list(json.loads(record.read_text())["ignored"].values()) == ["Shop"]
    holdfast_project.run("resume", "Shop")
    assert active(holdfast_project, "another") == "Shop"


def test_an_unfollowed_plan_is_not_mentioned_whatever_it_says(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    holdfast_project.write("PLAN.md", TICKED)
    holdfast_project.write("TODO.md", RUNNING.replace("Shop", "Other"))
    holdfast_project.run("unfollow", "PLAN.md")
    holdfast_project.run("unfollow", "TODO.md")
    used(compaction_cycle, "Edit", "PLAN.md")
    cycle = compaction_cycle()
    assert (cycle.guidance, cycle.message, holdfast_project.states()) == ("", "", [])
    assert said(compaction_cycle, "startup", "session-2") == ""
    holdfast_project.declare("W")
    cycle = compaction_cycle()
    assert "Other" not in cycle.guidance + cycle.message


def test_follow_reaches_a_file_that_no_glob_names(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    holdfast_project.write("notes/a [1].md", TICKED)
    assert candidates(holdfast_project) == []
    holdfast_project.run("follow", "notes/a [1].md")
    holdfast_project.write("notes/a [1].md", TICKED.replace("[ ]", "[x]"))
    assert "is in phase 3 of 3" in compaction_cycle().guidance


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("PLAN.md", "# Notes\n\nJust words.\n", "PLAN.md has no workflow to follow: "),
        ("gone.md", None, "there is no file 'gone.md'"),
        ("../outside.md", TICKED, "'../outside.md' is outside the project"),
    ],
)
def test_what_cannot_be_followed(
    path: str, text: str | None, why: str, holdfast_project: Project
) -> None:
    if text is not None:
        holdfast_project.write(path, text)
    assert why in holdfast_project.run("follow", path, check=False).stderr


def test_what_was_completed_is_no_candidate(holdfast_project: Project) -> None:
    holdfast_project.write("PLAN.md", TICKED)
    holdfast_project.run("follow", "PLAN.md")
    holdfast_project.run("complete", "Shop")
    assert (active(holdfast_project), candidates(holdfast_project)) == (None, [])


@pytest.mark.parametrize(
    "path",
    [
        "PLAN.md",
        "plan.md",
        "TODO.md",
        "IMPLEMENTATION_PLAN.md",
        "implementation-plan.md",
        "shop.plan.md",
        "docs/PLAN.md",
        "docs/checkout-plan.md",
        "docs/plans/2026-01-02-shop.md",
        "plans/shop.md",
        ".claude/plans/shop.md",
        "CLAUDE/Plan/001-shop/PLAN.md",
    ],
)
def test_where_plans_lie(
    path: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """By their words they are active; only ticked, they are candidates."""
    holdfast_project.write(path, TICKED)
    assert candidates(holdfast_project) == [path]
    holdfast_project.write(path, RUNNING)
    assert "Shop" in compaction_cycle().guidance
    assert candidates(holdfast_project) == []


@pytest.mark.parametrize("path", ["ROADMAP.md", "docs/roadmap.md", "docs/milestones-2026.md"])
def test_a_roadmap_is_followed_only_on_request(path: str, holdfast_project: Project) -> None:
    """It says what many mean to do one day, and often that some of it is in progress."""
    holdfast_project.write(path, RUNNING)
    assert (active(holdfast_project), candidates(holdfast_project)) == (None, [path])


@pytest.mark.parametrize(
    "path",
    ["docs/explanation.md", "docs/guide.md", "notes.md", "plans/README.md", "docs/deep/er/PLAN.md"],
)
def test_what_is_not_looked_at(path: str, holdfast_project: Project) -> None:
    holdfast_project.write(path, RUNNING)
    assert (active(holdfast_project), candidates(holdfast_project)) == (None, [])


@pytest.mark.parametrize("where", ["project", "local", "user"])
def test_the_folder_of_the_clients_plan_mode(where: str, holdfast_project: Project) -> None:
    folder = holdfast_project.root if where != "user" else holdfast_project.home
    name = "settings.local.json" if where == "local" else "settings.json"
    (folder / ".claude").mkdir(exist_ok=True)
    (folder / ".claude" / name).write_text('{"plansDirectory": "./work/plans"}')
    holdfast_project.write("work/plans/quiet-fox.md", TICKED)
    assert candidates(holdfast_project) == ["work/plans/quiet-fox.md"]


@pytest.mark.parametrize("mode", ["plan", "default"])
def test_the_file_of_plan_mode_is_not_sent_twice(
    mode: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """The client attaches it again after each compaction; what was only edited there it does not."""
    holdfast_project.write(".claude/settings.json", '{"plansDirectory": "work"}')
    holdfast_project.write("work/quiet-fox.md", TICKED)
    used(compaction_cycle, "Write", "work/quiet-fox.md", permission_mode=mode)
    cycle = compaction_cycle()
    assert "Shop" in cycle.guidance
    assert bool(cycle.reading) == (mode == "default")
    assert ("the client itself sends it again" in cycle.guidance) == (mode == "plan")


OPEN = "# Shop\n\n## Phase 1: Cart\n- [ ] Add\n\n## Phase 2: Till\n- [ ] Pay\n"


@pytest.mark.parametrize("setting", ["", '{"plansDirectory": "/elsewhere/plans"}'])
def test_a_plan_of_plan_mode_outside_the_project(
    setting: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """It is followed by the session that wrote it, whatever it says, and by no other."""
    project = holdfast_project
    folder = project.home / ".claude/plans"
    if setting:
        folder = project.home / "elsewhere/plans"
        (project.home / ".claude").mkdir()
        named = setting.replace("/elsewhere", f"{project.home}/elsewhere")
        (project.home / ".claude/settings.json").write_text(named)
    folder.mkdir(parents=True)
    plan = folder / "quiet-fox.md"
    plan.write_text(OPEN)
    used(compaction_cycle, "Write", str(plan), permission_mode="plan")
    assert active(project) == "Shop"
    plan.write_text(OPEN.replace("[ ] Add", "[x] Add"))
    cycle = compaction_cycle()
    assert 'The workflow "Shop" (type custom) is in phase 2 of 2' in cycle.guidance
    assert "the client itself sends it again" in cycle.guidance
    assert not cycle.reading
    (folder / "other.md").write_text(OPEN.replace("Shop", "Other"))
    used(compaction_cycle, "Write", str(folder / "other.md"), permission_mode="default")
    assert "Other" not in compaction_cycle().guidance
    project.run("complete", "Shop", "--force")
    assert f"The plan {plan} is no work any more: completed on" in compaction_cycle().guidance


def test_a_plan_of_plan_mode_is_noticed_by_the_fast_tier(holdfast_project: Project) -> None:
    """Where nothing is declared, what was prepared answered for it."""
    project = holdfast_project
    door = InSubprocess(project.environment("session-1"), str(project.root))
    who = Session("session-1", str(project.root))
    for _ in range(2):
        assert door.fire_raw(encode(who.pre_compact())) == (b"", "", 0)
    plan = project.home / ".claude/plans/quiet-fox.md"
    plan.parent.mkdir(parents=True)
    plan.write_text(OPEN)
    given = {"file_path": str(plan)}
    fields = {"tool_name": "Write", "tool_input": given, "tool_response": {}}
    door.fire(who.payload("PostToolUse", permission_mode="plan", **fields))
    assert active(project) == "Shop"


def test_the_next_phase_of_a_plan_without_phases(holdfast_project: Project) -> None:
    """It said that phase 1/1 is the last one."""
    holdfast_project.write("PLAN.md", "# Shop\n\nStatus: in progress\n\n- [ ] Add\n- [ ] Pay\n")
    done = holdfast_project.run("phase", "next", check=False)
    assert done.returncode == 1
    assert "no phases are known of 'Shop'" in done.stderr
    assert "write them into PLAN.md as `## Phase 1: Name`" in done.stderr
    holdfast_project.run("phase", "next", "--total", "3")
    assert status(holdfast_project)["workflow"]["briefing"]["phase"] == 2
    assert "phase 3/3" in holdfast_project.run("phase", "next").stdout


def test_a_plan_that_nobody_has_begun_can_be_followed(holdfast_project: Project) -> None:
    """With boxes that were all open, `follow` said that there was no workflow to follow."""
    holdfast_project.write("PLAN.md", "# Shop\n\n- [ ] Add\n- [ ] Pay\n")
    assert candidates(holdfast_project) == []
    assert "or `holdfast follow PLAN.md`" in holdfast_project.run("why", "PLAN.md").stdout
    holdfast_project.run("follow", "PLAN.md")
    assert active(holdfast_project) == "Shop"


@pytest.mark.parametrize("folder", ["../outside", "/etc", ".", 7])
def test_a_folder_of_plan_mode_that_is_not_below_the_root(
    folder: object, holdfast_project: Project
) -> None:
    holdfast_project.write(".claude/settings.json", json.dumps({"plansDirectory": folder}))
    holdfast_project.write("../outside/plan.md", TICKED)
    holdfast_project.write("any.md", TICKED)
    assert candidates(holdfast_project) == []


def test_a_new_plan_outdates_what_was_prepared(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Where there was nothing to do, the answers of a project without a workflow were kept."""
    door = InSubprocess(holdfast_project.environment("session-1"), str(holdfast_project.root))
    who = Session("session-1", str(holdfast_project.root))
    holdfast_project.write("docs/guide.md", "# Guide\n")
    for _ in range(2):
        assert door.fire_raw(encode(who.pre_compact())) == (b"", "", 0)
    holdfast_project.write("docs/plan.md", RUNNING)
    assert b"Shop" in door.fire_raw(encode(who.pre_compact())).stdout


def test_a_folder_with_very_many_files_is_no_reason_to_look_closer(tmp_path: Path) -> None:
    """Of the usual places nobody is told that they were not searched to the end."""
    project = Project(tmp_path / "project", tmp_path / "home", MovableClock())
    for number in range(10_050):
        (project.root / f"{number}.txt").touch()
    assert status(project) == {**status(project), "candidates": [], "notes": []}
    project.write("PLAN.md", TICKED)
    assert candidates(project) == ["PLAN.md"]
