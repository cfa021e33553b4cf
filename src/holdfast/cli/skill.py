"""The group `holdfast skill`: what skills such as /dev and /tdd do to their state.

One command for each shell operation of the document; docs/formats/skill.md has the table. A command
works on the workflow of this session among those of skills. Those below `tdd` work on the /tdd within
a /dev, where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

import click

from holdfast.cli import shown, terminal
from holdfast.cli.app import App, dump, json_option, pairs, pass_app, say, say_aside, tell
from holdfast.cli.naming import name_argument, workflow_option
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove
from holdfast.formats.base import Place, Workflow
from holdfast.formats.skill import facts, files, lifecycle, phases, summary, tasks, telling
from holdfast.formats.skill import tdd as cycles
from holdfast.formats.skill.facts import Pushed
from holdfast.formats.skill.files import Held
from holdfast.formats.skill.format import Skill
from holdfast.formats.skill.lifecycle import Removed, Started
from holdfast.formats.skill.model import TDD_PHASES, State
from holdfast.formats.skill.pushed import is_pushed
from holdfast.plaintext import one_line
from holdfast.store import COMMAND_WAIT
from holdfast.sync import Synced

P = ParamSpec("P")


@click.group()
def skill() -> None:
    """Keep the state of a skill such as /dev or /tdd in .claude/workflow-state."""


@dataclass(frozen=True)
class _Seen:
    """One workflow as it lies there, with what is told along with it."""

    held: Held
    inner: Held | None  # the /tdd within a /dev
    pushed: Pushed | None

    @property
    def state(self) -> State:
        return self.held.state

    @property
    def inner_state(self) -> State | None:
        return self.inner.state if self.inner else None


def _see(place: Place, workflow: Workflow) -> _Seen:
    found = files.look(place.store)
    held = found.find(workflow.key)
    if held is None:
        raise IllegalMove(f"{workflow.name!r} has gone meanwhile", hint="See holdfast skill list.")
    inner = facts.nested(held.state, [each.state for each in found.live])
    within = next((each for each in found.live if each.state is inner), None)
    asks = facts.pull_request_due(held.state)
    return _Seen(held, within, is_pushed(place.root, held.state.workflow.branch) if asks else None)


def _meant(app: App, synced: Synced, name: str | None) -> Workflow:
    return app.meant(synced, name, Skill.name)


def _tell(synced: Synced, key: str, verb: str, *details: str) -> None:
    """Say where it stands now."""
    told = telling.workflows_of(files.look(synced.place.store), synced.place)
    tell(synced, next(each for each in told if each.key == key), verb, *details)


def _move(
    app: App,
    name: str | None,
    verb: str,
    move: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> None:
    synced = app.change()
    key = _meant(app, synced, name).key
    lifecycle.change(synced.place, key, move, *arguments, **named)
    _tell(synced, key, verb)


def _move_cycle(
    app: App,
    name: str | None,
    verb: str,
    move: Callable[Concatenate[State, str, P], State],
    *arguments: P.args,
    **named: P.kwargs,
) -> None:
    """The same with the /tdd within, where there is one."""
    synced = app.change()
    seen = _see(synced.place, _meant(app, synced, name))
    key = (seen.inner or seen.held).key
    lifecycle.change(synced.place, key, move, *arguments, **named)
    _tell(synced, key, verb)


# Begin, and go on.

_OPTIONS_OF = {
    "dev": {"title", "tasks"},
    "tdd": {"feature", "number", "test_command"},
}
_OPTIONS_OF_OTHERS = {"phase_names", "tasks", "checkpoints"}


@skill.command()
@click.argument("kind", metavar="SKILL")
@click.argument("text", metavar="FEATURE|TASK")
@click.option("-t", "--task", "tasks", multiple=True, metavar="TEXT", help="A task, in its order.")
@click.option("--title", help="Of the feature, for a dev; else made of the file's name.")
@click.option("--feature", metavar="FILE", help="The feature that the task of a tdd belongs to.")
@click.option("--number", type=click.IntRange(1), help="Of that task in the feature's dev.")
@click.option("--test-command", help="What a tdd runs.")
@click.option("--phases", "phase_names", metavar="A,B,C", help="Of a skill that has its own.")
@click.option("--checkpoint", "checkpoints", multiple=True, metavar="NAME", help="The same.")
@click.option("--as", "called", metavar="NAME", help="A second one of the same text, by this name.")
@click.option("--fresh", is_flag=True, help="Begin anew in the place of one that is there.")
@click.option("--resume", "go_on", is_flag=True, help="Where one is there, go on with it.")
@pass_app
def start(
    app: App, /, kind: str, text: str, called: str | None, fresh: bool, go_on: bool, **given: Any
) -> None:
    """Begin a run of SKILL: dev FEATURE, tdd TASK, or another one with --phases.

    FEATURE is a file, or a folder with the files of several features. What has been completed for a
    day, or has not been touched for a week, is cleaned up by the way.
    """
    if not text.strip():
        raise click.BadParameter("a feature or a task is needed")
    _refuse_options_of_others(kind, given)
    if fresh and go_on:
        raise click.UsageError("--fresh begins anew, --resume goes on: give one of them.")
    synced = app.change(save=False, stay=False)
    there = _there(synced, kind, text, called)
    if there and go_on:
        _resume(synced, there, asks=False)
        return
    for line in there.cautions if there and not fresh else ():
        say_aside(one_line(line, 300))
    started = _begin(synced.place, kind, text, called, fresh, given)
    path = synced.place.store.relative(started.held.path)
    details = [f"kept in {path}"]
    details += [f"what could not be read is in {started.aside}"] if started.aside else []
    _tell(synced, started.held.key, "started", *details, *_removed(started.removed))


def _refuse_options_of_others(kind: str, given: dict[str, Any]) -> None:
    allowed = _OPTIONS_OF.get(kind, _OPTIONS_OF_OTHERS)
    wrong = [option for option, value in given.items() if value and option not in allowed]
    if wrong:
        options = click.get_current_context().command.params
        written = next(each.opts[-1] for each in options if each.name == wrong[0])
        raise click.UsageError(f"{written} is not for the skill {kind!r}.")
    if kind not in _OPTIONS_OF and not given["phase_names"]:
        raise click.UsageError(f"The skill {kind!r} needs its phases: --phases A,B,C")


def _there(synced: Synced, kind: str, text: str, called: str | None) -> Workflow | None:
    """The one that is kept already where this one would be."""
    stem = files.path_for(synced.place.store, kind, text, called).stem
    live = (each for each in synced.workflows if each.standing in {"active", "stale"})
    return next((each for each in live if each.handle == stem), None)


def _begin(
    place: Place, kind: str, text: str, called: str | None, fresh: bool, given: dict[str, Any]
) -> Started:
    if kind == "dev":
        return lifecycle.start_dev(
            place,
            text,
            title=given["title"],
            tasks=given["tasks"],
            folder_features=_features(place, text),
            called=called,
            afresh=fresh,
        )
    if kind == "tdd":
        return lifecycle.start_tdd(
            place,
            text,
            feature_file=given["feature"],
            task_index=given["number"],
            test_command=given["test_command"],
            called=called,
            afresh=fresh,
        )
    return lifecycle.start_other(
        place,
        kind,
        text,
        phases=[name.strip() for name in given["phase_names"].split(",")],
        tasks=given["tasks"],
        checkpoints=given["checkpoints"],
        called=called,
        afresh=fresh,
    )


def _features(place: Place, text: str) -> list[str] | None:
    """The files of a folder of features; None where *text* is no folder."""
    folder = place.root / text
    if not (place.store.holds(folder) and folder.is_dir()):
        return None
    return [place.store.relative(path) for path in sorted(folder.glob("*.md"))]


@skill.command()
@name_argument()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_app
def resume(app: App, name: str | None, yes: bool) -> None:
    """Show how far a workflow is, and go on with it in this session."""
    synced = app.change()
    _resume(synced, _meant(app, synced, name), asks=not yes and _is_asked())


def _is_asked() -> bool:
    """Whether there is a person to answer; a script must not wait for one."""
    return sys.stdin is not None and sys.stdin.isatty() and terminal.is_terminal()


def _resume(synced: Synced, workflow: Workflow, *, asks: bool) -> None:
    if workflow.standing not in {"active", "stale"}:
        hint = "" if workflow.standing == "ignored" else "Begin it anew: holdfast skill start"
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}", hint=hint)
    place, seen = synced.place, _see(synced.place, workflow)
    say(f"{summary.LOOKING}\n")
    _overview(synced, workflow, seen)
    say()
    question = summary.question(seen.state, seen.inner_state).removesuffix(" [Y/n]")
    if asks and not click.confirm(one_line(question), default=True):
        say("It stays as it is.")
        return
    lifecycle.resume(place, workflow.key)
    synced.take(workflow)
    synced.observe(workflow, COMMAND_WAIT)
    say(summary.resuming(seen.state, place.now, seen.inner_state, seen.pushed))


def _overview(synced: Synced, workflow: Workflow, seen: _Seen) -> None:
    say(summary.overview(seen.state, synced.place.now, seen.inner_state))
    if workflow.cautions:
        say()
    for line in workflow.cautions:
        say(line)
        say("1) is git switch; 2) is holdfast skill abandon, then holdfast skill start.")
    elsewhere = synced.elsewhere(workflow)
    for note in (*([elsewhere] if elsewhere else []), *synced.notes):
        say(f"\nNote: {one_line(note, 300)}")


# Phases and their steps.


@skill.group()
def phase() -> None:
    """Go from one phase to the next."""


@phase.command("start")
@click.argument("phase_name", metavar="PHASE", required=False)
@workflow_option
@pass_app
def phase_start(app: App, phase_name: str | None, name: str | None) -> None:
    """Begin the next phase, where none is in progress."""
    _move(app, name, "advanced", phases.start_phase, phase_name)


@phase.command("complete")
@click.argument("phase_name", metavar="PHASE", required=False)
@click.option("--commit", metavar="SHA", help="What it was committed with.")
@workflow_option
@pass_app
def phase_complete(app: App, phase_name: str | None, commit: str | None, name: str | None) -> None:
    """The current phase is done; the next one begins."""
    _move(app, name, "advanced", phases.complete_phase, phase_name, commit=commit)


@phase.command("step")
@click.argument("step", required=False)
@workflow_option
@pass_app
def phase_step(app: App, step: str | None, name: str | None) -> None:
    """The current step of the phase is done. One that has a checkpoint is done by that."""
    _move(app, name, "advanced", phases.complete_step, step)


@skill.command()
@click.argument("checkpoint_name", metavar="NAME")
@click.argument("values", nargs=-1, metavar="K=V...")
@click.option("--passed/--failed", default=None, help="How it ended.")
@workflow_option
@pass_app
def checkpoint(
    app: App,
    checkpoint_name: str,
    values: tuple[str, ...],
    passed: bool | None,
    name: str | None,
) -> None:
    """Record that the verification NAME has run, with what it found.

    lint --passed; test --passed count=42; security_review findings=0; pr_created pr_number=7.
    """
    told = pairs(values)
    if wrong := told.keys() & {"passed", "status", "last_run"}:
        raise click.BadParameter(f"{wrong.pop()!r} is told by --passed or --failed")
    _move(app, name, "noted", phases.record_checkpoint, checkpoint_name, passed=passed, values=told)


@skill.command()
@click.argument("reason")
@workflow_option
@pass_app
def block(app: App, reason: str, name: str | None) -> None:
    """Something is in the way. Nothing is changed until `unblock`."""
    _move(app, name, "blocked", phases.block, reason)


@skill.command()
@workflow_option
@pass_app
def unblock(app: App, name: str | None) -> None:
    """It is out of the way."""
    _move(app, name, "unblocked", phases.unblock)


# Tasks.


@skill.group()
def task() -> None:
    """Work on the tasks of the workflow, by their numbers."""


_NUMBER = click.argument("number", type=click.IntRange(1), required=False)


@task.command("add")
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@workflow_option
@pass_app
def task_add(app: App, texts: tuple[str, ...], name: str | None) -> None:
    """Add tasks at the end."""
    _move(app, name, "noted", tasks.add_tasks, texts)


@task.command("start")
@_NUMBER
@click.option("--no-tdd", is_flag=True, help="Without red, green and refactor of its own.")
@workflow_option
@pass_app
def task_start(app: App, number: int | None, no_tdd: bool, name: str | None) -> None:
    """Begin a task, by default the next one, in its red phase."""
    _move(app, name, "advanced", tasks.start_task, number, tdd=not no_tdd)


@task.command("phase")
@click.argument("done", type=click.Choice(TDD_PHASES), required=False)
@click.option("--task", "number", type=click.IntRange(1), help="Where several are in progress.")
@workflow_option
@pass_app
def task_phase(app: App, done: str | None, number: int | None, name: str | None) -> None:
    """The task's current one of red, green and refactor is done."""
    _move(app, name, "advanced", tasks.complete_task_phase, done, index=number)


@task.command("complete")
@_NUMBER
@click.option("--commit", metavar="SHA", help="What it was committed with.")
@workflow_option
@pass_app
def task_complete(app: App, number: int | None, commit: str | None, name: str | None) -> None:
    """The task is done, by default the one in progress."""
    _move(app, name, "advanced", tasks.complete_task, number, commit=commit)


# Test-driven cycles.


@skill.group()
def tdd() -> None:
    """Go through a test-driven cycle: red, green, refactor, commit."""


@tdd.command("test")
@click.argument("file")
@click.option("--name", "test_name", metavar="TEST", help="What the test is called.")
@workflow_option
@pass_app
def tdd_test(app: App, file: str, test_name: str | None, name: str | None) -> None:
    """The test is written, in FILE."""
    _move_cycle(app, name, "noted", cycles.write_test, file, test_name)


@tdd.command("fails")
@click.argument("reason")
@workflow_option
@pass_app
def tdd_fails(app: App, reason: str, name: str | None) -> None:
    """The test was seen failing, for this REASON."""
    _move_cycle(app, name, "noted", cycles.confirm_failure, reason)


@tdd.command("run")
@click.option("--passed/--failed", default=None, help="How it ended.")
@click.option("--command", metavar="LINE", help="What was run.")
@click.option("--failing", multiple=True, metavar="TEST", help="A test that fails.")
@click.option("--passing", multiple=True, metavar="TEST", help="A test that passes.")
@click.option("--error", metavar="TEXT", help="The error that stands in the way.")
@workflow_option
@pass_app
def tdd_run(
    app: App,
    passed: bool | None,
    command: str | None,
    failing: tuple[str, ...],
    passing: tuple[str, ...],
    error: str | None,
    name: str | None,
) -> None:
    """The tests were run. In green, a run that passes lets the phase end."""
    if passed is None:
        raise click.UsageError("Say how it ended: --passed or --failed.")
    _move_cycle(
        app,
        name,
        "noted",
        cycles.record_tests,
        passed=passed,
        command=command,
        failing=failing,
        passing=passing,
        error=error,
    )


@tdd.command("file")
@click.argument("path")
@click.option("--phase", "phase_name", metavar="PHASE", help="By default the current one.")
@click.option("--lines", type=click.IntRange(0), help="How many were added.")
@workflow_option
@pass_app
def tdd_file(
    app: App, path: str, phase_name: str | None, lines: int | None, name: str | None
) -> None:
    """The file at PATH was changed in this phase."""
    _move_cycle(app, name, "noted", cycles.note_file, path, phase=phase_name, lines_added=lines)


@tdd.command("done")
@click.option("--commit", metavar="SHA", help="What the cycle was committed with.")
@workflow_option
@pass_app
def tdd_done(app: App, commit: str | None, name: str | None) -> None:
    """The current phase of the cycle is done; the next one begins."""
    _move_cycle(app, name, "advanced", phases.complete_phase, commit=commit)


@tdd.command("next")
@workflow_option
@pass_app
def tdd_next(app: App, name: str | None) -> None:
    """The cycle is committed; begin the next one."""
    _move_cycle(app, name, "advanced", cycles.next_cycle)


# The end.


@skill.command()
@name_argument()
@click.option("--force", "although", metavar="REASON", help="Although not all of it is done.")
@pass_app
def complete(app: App, name: str | None, although: str | None) -> None:
    """End the workflow and put it into completed/. The last line is the signal, DEV_COMPLETE: NAME."""
    synced = app.change()
    ended = lifecycle.complete(synced.place, _meant(app, synced, name).key, although=although)
    say(f"Workflow completed: {ended.state.name}. It lies in {ended.path}")
    say(ended.signal)


@skill.command()
@name_argument()
@click.option("--reason", help="Why.")
@pass_app
def abandon(app: App, name: str | None, reason: str | None) -> None:
    """Give the workflow up, so that it does not come back."""
    synced = app.change()
    ended = lifecycle.abandon(synced.place, _meant(app, synced, name).key, reason)
    say(f"Workflow abandoned: {ended.state.name}. It lies in {ended.path}")


@skill.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@pass_app
def clean(app: App, dry_run: bool) -> None:
    """Remove what was completed a day ago or left for a week, and put the index right.

    Unfinished work goes to .claude/holdfast/archive first.
    """
    synced = app.look() if dry_run else app.change()
    removed = lifecycle.clean(synced.place, dry_run=dry_run)
    for line in _removed(removed, "would be removed" if dry_run else "removed"):
        say(line)
    if not removed:
        say("There is nothing to clean up.")


def _removed(removed: Sequence[Removed], verb: str = "removed") -> list[str]:
    return [f"{verb}: {each.path} ({each.why})" for each in removed]


@skill.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_app
def clear(app: App, yes: bool) -> None:
    """Remove every workflow of skills, the active ones too."""
    place = app.change().place
    due = lifecycle.clear(place, dry_run=True)
    if not due:
        say("There is nothing to clear.")
        return
    for line in _removed(due, "to be removed"):
        say(line)
    if not yes and not _is_asked():
        raise IllegalMove(
            "nothing was removed", hint="If that is meant: holdfast skill clear --yes"
        )
    if yes or click.confirm("Remove all of it?", default=False):
        count = len(lifecycle.clear(place))
        say(f"{count} removed; unfinished work is in .claude/holdfast/archive.")


# Looking.


@skill.command("list")
@json_option
@pass_app
def list_all(app: App, as_json: bool) -> None:
    """The workflows of skills; * marks the one that these commands work on."""
    synced = app.look()
    choice = synced.choice(Skill.name)
    ordered = [each for each in (choice.chosen, *choice.others) if each]
    seen = [(each, _see(synced.place, each)) for each in ordered]
    if as_json:
        dump([_entry(*each) for each in seen])
        return
    if not ordered:
        put("See: holdfast why", whole=f"No workflows of skills in {synced.root}.")
    for workflow, found in seen:
        shown.entry(workflow, chosen=workflow is choice.chosen)
        line = f"{workflow.handle}: "
        if workflow.standing == "active":
            line += summary.headline(found.state, found.inner_state, found.pushed)
        else:
            line += found.state.workflow.status
        put(line, lead="    ", style=terminal.FAINT)


def _entry(workflow: Workflow, seen: _Seen) -> dict[str, Any]:
    """An entry of the index, and where it stands."""
    state = seen.state
    return {
        "id": state.workflow.id or workflow.handle,
        "skill": state.skill,
        "feature": state.subject,
        "started_at": state.workflow.created_at,
        "last_activity": state.workflow.updated_at,
        "status": state.workflow.status,
        "standing": workflow.standing,
        "path": workflow.briefing.state_path,
    }


@skill.command()
@json_option
@name_argument()
@pass_app
def show(app: App, name: str | None, as_json: bool) -> None:
    """How far a workflow is; with --json the state itself."""
    synced = app.look()
    workflow = _meant(app, synced, name)
    seen = _see(synced.place, workflow)
    if as_json:
        dump(seen.state.to_json())
    else:
        _overview(synced, workflow, seen)


COMMANDS = (skill,)
