"""The group `holdfast skill`: updates to the state of skills such as /dev and /tdd.

One command for each shell operation of the document; see the table in docs/formats/skill.md. A command
acts on this session's skill workflow. Those in the group `tdd` act on the /tdd nested in a /dev, if
there is one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from holdfast.cli import terminal
from holdfast.cli.app import (
    App,
    Move,
    Whole,
    add_moves,
    agreed,
    dump,
    json_option,
    pairs,
    pass_app,
    refuse_options_of_others,
    say,
    say_aside,
    take_up,
    workflow_name,
)
from holdfast.cli.words import IN_RECORD, Word
from holdfast.errors import IllegalMove
from holdfast.formats.engine.workflow import Place, Workflow
from holdfast.formats.skill import facts, files, lifecycle, moves, summary, tasks
from holdfast.formats.skill.facts import Position
from holdfast.formats.skill.files import StateFile
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.lifecycle import Beginning
from holdfast.formats.skill.model import TDD_PHASES, State
from holdfast.text.plaintext import one_line
from holdfast.workflows import sync
from holdfast.workflows.sync import ProjectView


@click.group()
def skill() -> None:
    """Keep the state of a skill such as /dev or /tdd in .claude/workflow-state."""


class SkillRun(NamedTuple):
    """One skill workflow, with the /tdd nested in it."""

    file: StateFile
    inner: StateFile | None
    position: Position

    def ended_within(self) -> list[str]:
        """A line if the nested /tdd has ended since."""
        if self.inner is None or os.path.lexists(self.inner.path):
            return []
        return [f"the nested {self.inner.name!r} has ended with it"]


def see(place: Place, workflow: Workflow) -> SkillRun:
    """The run of *workflow*."""
    found = FORMAT.look(place)
    file = found.find(workflow.key)
    if file is None:
        hint = "List the workflows: holdfast list"
        raise IllegalMove(f"{workflow.name!r} no longer exists", hint=hint)
    inner = facts.nested(file, found.working)
    return SkillRun(file, inner, facts.position(place, file.state, inner.state if inner else None))


# Begin, and go on.

_OPTIONS_OF = {"dev": {"title", "tasks"}, "tdd": {"feature_file", "task_index", "test_command"}}
_OPTIONS_OF_OTHERS = {"phases", "tasks", "checkpoints"}


@skill.command()
@click.argument("kind", metavar="SKILL")
@click.argument("text", metavar="FEATURE|TASK")
@click.option("-t", "--task", "tasks", multiple=True, metavar="TEXT", help="A task; repeatable.")
@click.option("--title", help="For dev: the title (default: from the file's name).")
@click.option("--feature", "feature_file", metavar="FILE", help="For tdd: the task's feature.")
@click.option("--number", "task_index", type=Whole(1), help="For tdd: the task's number.")
@click.option("--test-command", help="For tdd: the command that runs the tests.")
@click.option("--phases", metavar="A,B,C", help="Another skill's phases.")
@click.option(
    "--checkpoint", "checkpoints", multiple=True, metavar="NAME", help="Another skill's checkpoint."
)
@click.option("--as", "called", metavar="NAME", help="Name for a second run of the same text.")
@click.option("--fresh", is_flag=True, help="Replace an existing run.")
@click.option("--resume", "go_on", is_flag=True, help="Continue an existing run, if there is one.")
@pass_app
def start(
    app: App, /, kind: str, text: str, called: str | None, fresh: bool, go_on: bool, **given: Any
) -> None:
    """Start a run of SKILL: dev FEATURE, tdd TASK, or another skill with --phases.

    FEATURE is a file, or a folder of feature files. It also cleans up runs completed a day ago, or
    untouched for a week.
    """
    if not text.strip():
        raise click.BadParameter("a feature or a task is needed")
    allowed = _OPTIONS_OF.get(kind, _OPTIONS_OF_OTHERS)
    refuse_options_of_others(given, allowed, f"skill {kind!r}")
    if fresh and go_on:
        raise click.UsageError("Give --fresh or --resume, not both.")
    view = app.change(FORMAT.name, save_due=False, stay=False)
    place = view.place
    phases = given.pop("phases")
    given["phases"] = [name.strip() for name in phases.split(",")] if phases else []
    features = _features(place, text) if kind == "dev" else None
    beginning = Beginning(kind, text, folder_features=features, **given)
    # The file is named after the feature alone, so it may be another task's /tdd.
    file, number = lifecycle.existing(place, beginning, called), beginning.task_index
    kept = (each for each in view.workflows if file and each.key == file.key)
    there = next((each for each in kept if each.standing in {"active", "stale"}), None)
    if there and go_on and number in {None, see(place, there).file.state.context.task_index}:
        _resume(view, there, asks=False)
        return
    for line in there.cautions if there and not fresh else ():
        say_aside(one_line(line, 300))
    started = lifecycle.start(place, beginning, called, afresh=fresh)
    details = [f"kept in {place.store.relative(started.file.path)}"]
    if started.aside:
        corrupted = "⚠️ Corrupted state file detected. Starting fresh."
        details.append(f"{corrupted} What could not be read is in {started.aside}")
    subject = text if kind == "dev" else beginning.feature_file
    if subject and not (place.root / subject).exists():
        details.append(f"⚠️ {subject} does not exist")
    begun = FORMAT.workflow(place, started.file)
    take_up(view, begun, "started", *details, *_removed(started.removed))


def _features(place: Place, text: str) -> list[str] | None:
    """The files in a folder of features; None if *text* is not a folder."""
    folder = place.root / text
    if not (place.store.holds(folder) and place.store.inputs.is_dir(folder)):
        return None
    return [place.store.relative(path) for path in sorted(folder.glob("*.md"))]


@skill.command()
@workflow_name()
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@pass_app
def resume(app: App, name: str | None, yes: bool) -> None:
    """Show a workflow's progress and continue it in this session."""
    view = app.change(FORMAT.name)
    found = FORMAT.look(view.place).live if name else []
    about = [file.path.stem for file in found if files.is_about(file, view.place.root, name or "")]
    name = about[0] if len(about) == 1 else name
    _resume(view, app.meant(view, name, FORMAT.name), asks=not yes and terminal.can_ask())


def _resume(view: ProjectView, workflow: Workflow, *, asks: bool) -> None:
    if workflow.standing not in {"active", "stale"}:
        hint = "" if workflow.standing == "ignored" else "Start it again: holdfast skill start"
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}", hint=hint)
    place, seen = view.place, see(view.place, workflow)
    say(f"{summary.LOOKING}\n")
    _overview(view, workflow, seen)
    say()
    question = summary.question(seen.position).removesuffix(" [Y/n]")
    if not asks:
        say(summary.headline(seen.position))
    elif not click.confirm(one_line(question), default=True):
        say("Nothing was changed.")
        return
    FORMAT.touch(place, workflow)
    sync.take_up(view, workflow)
    say(summary.resuming(seen.position, place.now))


def _overview(view: ProjectView, workflow: Workflow, seen: SkillRun) -> None:
    say(summary.overview(seen.position, view.place.now))
    if workflow.cautions:
        say()
    for line in workflow.cautions:
        say(line)
        if "Options: 1)" in line:  # of another branch
            say("1) is git switch, with -c for a new one.")
            say("2) is holdfast skill abandon, then holdfast skill start.")
    elsewhere = view.elsewhere(workflow)
    for note in (*([elsewhere] if elsewhere else []), *view.notes):
        say(f"\nNote: {one_line(note, 300)}")


# The end.


@skill.command()
@workflow_name()
@click.option("--force", "although", metavar="REASON", help="Complete it with work left to do.")
@pass_app
def complete(app: App, name: str | None, although: str | None) -> None:
    """Complete the workflow and move it to completed/. The last line is the signal, DEV_COMPLETE: NAME."""
    ended = _end(app, name, moves.complete, although)
    if ended.state.workflow.status == "completed":  # not if it was abandoned by hand
        say(moves.signal(ended.state))


@skill.command()
@workflow_name()
@click.option("--reason", help="Why.")
@pass_app
def abandon(app: App, name: str | None, reason: str | None) -> None:
    """Abandon the workflow. It is no longer restored."""
    _end(app, name, moves.abandon, reason)


def _end(app: App, name: str | None, move: Callable[..., State], reason: str | None) -> StateFile:
    view = app.change(FORMAT.name)
    place = view.place
    workflow = app.meant(view, name, FORMAT.name)
    seen = see(place, workflow)
    changed = FORMAT.end(place, seen.file.key, move, reason)
    sync.put_down(view, workflow)
    ended = changed.entry
    say(moves.ended(ended.state, place.store.relative(ended.path)))
    for line in (*changed.lines, *seen.ended_within()):
        say(f"  {one_line(line)}")
    return ended


@skill.command()
@click.option("--all", "everything", is_flag=True, help="Remove every run, also active ones.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="With --all, do not ask for confirmation.")
@pass_app
def clean(app: App, everything: bool, dry_run: bool, yes: bool) -> None:
    """Remove runs completed a day ago or untouched for a week, and correct the index.

    Unfinished work is archived in .claude/holdfast/archive first.
    """
    place = (app.look(FORMAT.name) if dry_run else app.change(FORMAT.name)).place
    if dry_run or (everything and not yes):
        due = lifecycle.clean(place, everything=everything, dry_run=True)
        for line in _removed(due, "would be removed"):
            say(line)
        hint = "To confirm: holdfast skill clean --all --yes"
        question = "Remove all of it?"
        if dry_run or not agreed(question, yes=yes, undone="nothing was removed", hint=hint):
            return
    removed = lifecycle.clean(place, everything=everything)
    for line in _removed(removed) or ["Nothing to clean up."]:
        say(line)


def _removed(removed: Sequence[tuple[str, str]], verb: str = "removed") -> list[str]:
    return [f"{verb}: {path} ({why})" for path, why in removed]


# Looking.


@skill.command()
@json_option
@workflow_name()
@pass_app
def show(app: App, name: str | None, as_json: bool) -> None:
    """Show a workflow's progress, or with --json its state."""
    view = app.look(FORMAT.name)
    workflow = app.meant(view, name, FORMAT.name)
    seen = see(view.place, workflow)
    if as_json:
        dump(seen.file.state.to_json())
    else:
        _overview(view, workflow, seen)


# Commands that make one move.


@skill.group()
def phase() -> None:
    """Go from one phase to the next."""


@skill.group()
def task() -> None:
    """Work on the workflow's tasks by number."""


@skill.group()
def tdd() -> None:
    """Go through a test-driven cycle: red, green, refactor, commit."""


def _run(app: App, name: str | None, move: Move, given: dict[str, Any]) -> None:
    """Make *move* on the selected workflow; `tdd` moves go to the nested /tdd, if there is one."""
    view = app.change(FORMAT.name)
    seen = see(view.place, app.meant(view, name, FORMAT.name))
    is_of_cycle = move.words.startswith("tdd ")
    key = (seen.inner if is_of_cycle and seen.inner else seen.file).key
    changed = FORMAT.change(view.place, key, move.step, **given)
    workflow, lines = FORMAT.workflow(view.place, changed.entry), [*changed.lines]
    known = seen.file.state.checkpoints
    if known and given.get("checkpoint", next(iter(known))) not in known:
        lines.append(f"⚠️ {given['checkpoint']!r} is new; there are {', '.join(known)}")
    take_up(view, workflow, move.verb, *lines, *seen.ended_within())


def _findings(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, Any]:
    found = pairs(values)
    if wrong := found.keys() & {"passed", "status", "last_run"}:
        raise click.BadParameter(f"set {wrong.pop()!r} with --passed or --failed")
    return found


_PASSED = click.option("--passed/--failed", default=None, help="The result.")
_NUMBER = click.argument("number", type=Whole(1), required=False)
_COMMIT = click.option("--commit", metavar="SHA", help="The commit.")
_REASON = click.argument("reason")

MOVES = (
    Move(
        "phase complete",
        moves.complete_phase,
        "advanced",
        click.argument("phase", required=False),
        _COMMIT,
    ),
    Move(
        "checkpoint",
        moves.record_checkpoint,
        "noted",
        click.argument("checkpoint", metavar="NAME"),
        click.argument("values", nargs=-1, metavar="K=V...", callback=_findings),
        _PASSED,
    ),
    Move("block", moves.block, "blocked", _REASON),
    Move("unblock", moves.unblock, "unblocked"),
    Move(
        "task add",
        tasks.add_tasks,
        "noted",
        click.argument("descriptions", nargs=-1, required=True, metavar="TEXT..."),
    ),
    Move(
        "task start",
        tasks.start_task,
        "advanced",
        _NUMBER,
        click.option("--no-tdd", is_flag=True, help="Skip the red, green and refactor phases."),
    ),
    Move(
        "task phase",
        tasks.complete_task_phase,
        "advanced",
        click.argument("phase", type=click.Choice(TDD_PHASES), required=False),
        click.option("--task", "number", type=Whole(1), help="The task, if several run."),
    ),
    Move("task complete", tasks.complete_task, "advanced", _NUMBER, _COMMIT),
    Move(
        "tdd test",
        tasks.write_test,
        "noted",
        click.argument("file"),
        click.option("--name", "test", metavar="TEST", help="The test's name."),
    ),
    Move("tdd fails", tasks.confirm_failure, "noted", _REASON),
    Move(
        "tdd run",
        tasks.record_tests,
        "noted",
        _PASSED,
        click.option("--command", metavar="LINE", help="The command that ran."),
        click.option("--failing", multiple=True, metavar="TEST", help="A test that fails."),
        click.option("--passing", multiple=True, metavar="TEST", help="A test that passes."),
        click.option("--error", metavar="TEXT", help="The error to fix."),
    ),
    Move(
        "tdd file",
        tasks.note_file,
        "noted",
        click.argument("path"),
        click.option("--phase", metavar="PHASE", help="The phase (default: the current one)."),
        click.option("--lines", type=Whole(0), help="The number of lines added."),
    ),
    Move("tdd done", moves.complete_phase, "advanced", _COMMIT),
    Move("tdd next", tasks.next_cycle, "advanced"),
)
add_moves(skill, MOVES, _run)


def _next(place: Place, workflow: Workflow) -> Sequence[str]:
    seen = see(place, workflow)
    state, task = seen.file.state, seen.position.task
    if task and task.status == "pending":
        return ["task start"]
    if state.phase and state.phase.status == "completed" and not state.following:
        return ["tdd next", "complete"] if facts.is_cycle(state) else ["complete"]
    return ["phase complete"]


def _done(place: Place, workflow: Workflow) -> Sequence[str]:
    seen = see(place, workflow)
    task, inner = seen.position.task, seen.inner
    if task and task.status == "in_progress":
        goes_on = inner.state.phase if inner else None
        if goes_on and goes_on.status != "completed":
            return ["tdd done"]
        in_cycle = inner is None and seen.position.tdd_phase(task)
        return ["task phase"] if in_cycle else ["task complete"]
    return ["phase complete"]


_APPROVAL = "its document knows no approvals"
WORDS = {
    "next": Word(
        "`task start` of the next task, else `phase complete`, at the end `complete`", _next
    ),
    "done": Word(
        "`tdd done`, `task phase`, `task complete` or `phase complete`, by what is at work", _done
    ),
    "note": IN_RECORD,
    "block": Word("`skill block REASON`", "block"),
    "unblock": Word("`skill unblock`", "unblock"),
    "approve": Word(_APPROVAL),
    "reject": Word(_APPROVAL),
}
