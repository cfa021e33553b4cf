"""What is kept of a run: learnings, checkpoints and the way back to one, and the archive."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.cli.app import App, agreed, pass_app, say
from holdfast.cli.naming import workflow_option
from holdfast.cli.orchestrate.group import meant, move, orchestrate, tell_now
from holdfast.formats.orchestrator import (
    archive,
    checkpoints,
    learnings,
    model,
    parting,
    snapshots,
)
from holdfast.formats.orchestrator.checkpoints import Plan
from holdfast.formats.orchestrator.lifecycle import Changed
from holdfast.plaintext import one_line


@orchestrate.command()
@click.argument("lesson")
@click.option(
    "--type", "kind", type=click.Choice(model.LEARNINGS), required=True, help="What kind it is."
)
@click.option("--pattern", default="", metavar="TEXT", help="What to do in future tasks.")
@click.option("--context", default="", metavar="TEXT", help="Where this applies.")
@click.option("--task", metavar="ID", help="Where it was learned; else in the current task.")
@workflow_option
@pass_app
def learn(
    app: App, lesson: str, kind: str, pattern: str, context: str, task: str | None, name: str | None
) -> None:
    """Note a LESSON in learnings.jsonl, and then in the state."""
    move(
        app,
        name,
        "noted",
        learnings.learn,
        kind,
        lesson,
        pattern=pattern,
        context=context,
        task=task,
    )


@orchestrate.command()
@click.option("--task", metavar="ID", help="Its task; else the current one.")
@workflow_option
@pass_app
def checkpoint(app: App, task: str | None, name: str | None) -> None:
    """Take a checkpoint: a snapshot of the state, with the commit that git stands at."""
    synced = app.change()
    meant(app, synced, name)
    taken = checkpoints.take(synced.place, task)
    commit = f"at commit {taken.entry.git_sha}" if taken.entry.git_sha else "without git"
    tell_now(synced, Changed(taken.held, taken.lines), "saved", f"{taken.name}, {commit}")


@orchestrate.command()
@click.argument("which", metavar="[N|FILE]", required=False)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@pass_app
def restore(app: App, which: str | None, yes: bool) -> None:
    """Go back to a checkpoint, by default the last good one: with the state, not with the files.

    What was used of the limits, and the limits themselves, stay as they are. So does learnings.jsonl.
    """
    synced = app.change()
    plan = checkpoints.plan(synced.place, which)
    say(f"{snapshots.described(plan.snapshot)} would change:")
    before = plan.before.state if plan.before else None
    for line in checkpoints.changes(before, plan.after) or ["nothing"]:
        say(f"  {one_line(line)}")
    hint = f"If that is meant: holdfast orchestrate restore {plan.snapshot.path.name} --yes"
    if not agreed("Go back to it?", yes=yes, undone="nothing was restored", hint=hint):
        return
    restored = checkpoints.restore(synced.place, str(plan.snapshot.path))
    details = [f"what was there is kept in {restored.aside}"] if restored.aside else []
    if restored.held.state.active_agents:
        details += ["its agents may have ended since then: holdfast orchestrate agent list"]
    details += _files(synced.place.root, plan)
    tell_now(synced, Changed(restored.held, restored.lines), "restored", *details)


def _files(root: Path, plan: Plan) -> list[str]:
    line = parting.way_back(plan.sha, parting.commits(root, plan.sha) if plan.sha else None)
    return [line] if line else []


@orchestrate.command("archive")
@pass_app
def put_away(app: App) -> None:
    """Put a run that has ended into the archive, so that another one can begin."""
    place = app.change().place
    folder = archive.put_away(place)
    say(f"The run lies in {place.store.relative(folder)}.")
    say("learnings.jsonl stays where it is as well; it goes on through all runs.")
