"""Commands for whole runs of a skill: begun, taken up, looked at, ended, cleaned up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from holdfast.cli import shown, terminal
from holdfast.cli.app import App, agreed, dump, json_option, pass_app, say, say_aside
from holdfast.cli.naming import name_argument
from holdfast.cli.skill.group import Seen, ended_within, meant, see, see_all, skill, tell_now
from holdfast.cli.terminal import put
from holdfast.errors import IllegalMove
from holdfast.formats.base import Place, Workflow
from holdfast.formats.skill import files, lifecycle, summary
from holdfast.formats.skill.format import Skill
from holdfast.formats.skill.lifecycle import Removed, Started
from holdfast.plaintext import one_line
from holdfast.store import COMMAND_WAIT
from holdfast.sync import Synced

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
    there = _there(synced, kind, lifecycle.named_by(text, given["feature"]), called)
    if there and go_on and _is_of_task(synced, there, given["number"]):
        _resume(synced, there, asks=False)
        return
    for line in there.cautions if there and not fresh else ():
        say_aside(one_line(line, 300))
    started = _begin(synced.place, kind, text, called, fresh, given)
    path = synced.place.store.relative(started.held.path)
    details = [f"kept in {path}"]
    details += [f"what could not be read is in {started.aside}"] if started.aside else []
    tell_now(synced, started.held.key, "started", *details, *_removed(started.removed))


def _refuse_options_of_others(kind: str, given: dict[str, Any]) -> None:
    allowed = _OPTIONS_OF.get(kind, _OPTIONS_OF_OTHERS)
    wrong = [option for option, value in given.items() if value and option not in allowed]
    if wrong:
        options = click.get_current_context().command.params
        written = next(each.opts[-1] for each in options if each.name == wrong[0])
        raise click.UsageError(f"{written} is not for the skill {kind!r}.")
    if kind not in _OPTIONS_OF and not given["phase_names"]:
        raise click.UsageError(f"The skill {kind!r} needs its phases: --phases A,B,C")


def _there(synced: Synced, kind: str, named_by: str, called: str | None) -> Workflow | None:
    """The one that is kept already where this one would be."""
    stem = files.path_for(synced.place.store, kind, named_by, called).stem
    live = (each for each in synced.workflows if each.standing in {"active", "stale"})
    return next((each for each in live if each.handle == stem), None)


def _is_of_task(synced: Synced, workflow: Workflow, number: int | None) -> bool:
    """The file's name tells the feature alone, so it may be the /tdd of another task of it."""
    return number in {None, see(synced.place, workflow).state.context.task_index}


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
    if not (
        place.store.holds(folder) and os.path.isdir(folder)
    ):  # Path.is_dir fails for a long name
        return None
    return [place.store.relative(path) for path in sorted(folder.glob("*.md"))]


@skill.command()
@name_argument()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_app
def resume(app: App, name: str | None, yes: bool) -> None:
    """Show how far a workflow is, and go on with it in this session."""
    synced = app.change()
    _resume(synced, meant(app, synced, name), asks=not yes and terminal.can_ask())


def _resume(synced: Synced, workflow: Workflow, *, asks: bool) -> None:
    if workflow.standing not in {"active", "stale"}:
        hint = "" if workflow.standing == "ignored" else "Begin it anew: holdfast skill start"
        raise IllegalMove(f"{workflow.name!r} is {workflow.standing}: {workflow.remark}", hint=hint)
    place, seen = synced.place, see(synced.place, workflow)
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


def _overview(synced: Synced, workflow: Workflow, seen: Seen) -> None:
    say(summary.overview(seen.state, synced.place.now, seen.inner_state))
    if workflow.cautions:
        say()
    for line in workflow.cautions:
        say(line)
        say("1) is git switch; 2) is holdfast skill abandon, then holdfast skill start.")
    elsewhere = synced.elsewhere(workflow)
    for note in (*([elsewhere] if elsewhere else []), *synced.notes):
        say(f"\nNote: {one_line(note, 300)}")


# The end.


@skill.command()
@name_argument()
@click.option("--force", "although", metavar="REASON", help="Although not all of it is done.")
@pass_app
def complete(app: App, name: str | None, although: str | None) -> None:
    """End the workflow and put it into completed/. The last line is the signal, DEV_COMPLETE: NAME."""
    synced = app.change()
    seen = see(synced.place, meant(app, synced, name))
    ended = lifecycle.complete(synced.place, seen.held.key, although=although)
    say(f"Workflow completed: {ended.state.name}. It lies in {ended.path}")
    for line in ended_within(seen):
        say(f"  {one_line(line)}")
    say(ended.signal)


@skill.command()
@name_argument()
@click.option("--reason", help="Why.")
@pass_app
def abandon(app: App, name: str | None, reason: str | None) -> None:
    """Give the workflow up, so that it does not come back."""
    synced = app.change()
    seen = see(synced.place, meant(app, synced, name))
    ended = lifecycle.abandon(synced.place, seen.held.key, reason)
    say(f"Workflow abandoned: {ended.state.name}. It lies in {ended.path}")
    for line in ended_within(seen):
        say(f"  {one_line(line)}")


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
    hint = "If that is meant: holdfast skill clear --yes"
    if agreed("Remove all of it?", yes=yes, undone="nothing was removed", hint=hint):
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
    seen = list(zip(ordered, see_all(synced.place, ordered), strict=True))
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


def _entry(workflow: Workflow, seen: Seen) -> dict[str, Any]:
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
    workflow = meant(app, synced, name)
    seen = see(synced.place, workflow)
    if as_json:
        dump(seen.state.to_json())
    else:
        _overview(synced, workflow, seen)
