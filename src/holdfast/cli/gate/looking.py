"""Commands that look at a feature, and the one that makes its files agree."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from holdfast.cli import terminal
from holdfast.cli.app import App, dump, json_option, pass_app, say
from holdfast.cli.gate import commits
from holdfast.cli.gate.group import folder_meant, folder_of, gate, meant, tell_now, writing
from holdfast.cli.naming import workflow_option
from holdfast.cli.terminal import put
from holdfast.formats.gated import facts, files, inspection, lifecycle, reconcile
from holdfast.formats.gated.files import HeldStatus, Run
from holdfast.formats.gated.model import PHASES, PhaseName, State
from holdfast.plaintext import counted, one_line

_MARKS = {"approved": "✅", "pending": "⏳", "escalated": "⛔"}


@gate.command()
@json_option
@workflow_option
@pass_app
def status(app: App, as_json: bool, name: str | None) -> None:
    """Where the feature stands: its phases, whose turn it is, and what is possible now."""
    synced = app.look()
    workflow = meant(app, synced, name)
    run = files.read(synced.place.store, folder_of(synced.place, workflow.key))
    state = reconcile.readable_state(run)
    if as_json:
        dump(_told(run, state))
        return
    put(f"{one_line(state.name)}: {state.status.replace('_', ' ')}", style=terminal.HEADING)
    for phase in PHASES:
        put(_phase(state, phase), lead="  ")
    put(facts.next_action(state, run.status(state.current_phase)), lead="  next: ")
    for fact, value in facts.context(state, run.status(state.current_phase)):
        if value:
            put(one_line(str(value)), lead=f"  {fact}: ")
    for line in (*workflow.cautions, *synced.notes):
        put(one_line(line), lead="  note: ", style=terminal.WARNING)


def _phase(state: State, phase: PhaseName) -> str:
    summary = state.phases[phase]
    mark = _MARKS.get(summary.status, "🔄")
    told = f", iteration {summary.iterations}" if summary.iterations else ""
    return f"{mark} {phase} ({summary.status.replace('_', ' ')}{told})"


def _told(run: Run, state: State) -> dict[str, Any]:
    statuses = {
        phase: held.state.to_json()
        for phase, held in run.statuses.items()
        if isinstance(held, HeldStatus)
    }
    return {
        "state": state.to_json(),
        "statuses": statuses,
        "turn": facts.turn(state),
        "next_action": facts.next_action(state, run.status(state.current_phase)),
        "possible": facts.possible(state),
        "disagreements": [*reconcile.contradictions(state), *reconcile.disagreements(run)],
    }


@gate.command()
@json_option
@workflow_option
@pass_app
def validate(app: App, as_json: bool, name: str | None) -> None:
    """Check all six files by the document's rules, and whether they agree. Exit 1 when not."""
    synced = app.look()
    folder = folder_meant(app, synced, name)
    problems = list(inspection.problems_of(synced.place.store, folder))
    if as_json:
        dump({"feature": folder.name, "valid": not problems, "problems": problems})
    else:
        for line in _verdict(synced.place.store.relative(folder), problems):
            say(line)
    if problems:
        sys.exit(1)


def _verdict(folder: str, problems: list[str]) -> Iterator[str]:
    if not problems:
        yield f"{folder}: valid, and the files agree"
        return
    yield f"{folder}: {counted(len(problems), 'problem')}"
    yield from (f"  {one_line(each)}" for each in problems)


@gate.command("reconcile")
@commits.commits("Reconcile the state files")
@click.option("--dry-run", is_flag=True, help="Only say what would be put right.")
@workflow_option
@pass_app
def reconcile_files(app: App, dry_run: bool, name: str | None) -> None:
    """Let each status.json say what workflow-state.json says."""
    synced = app.look() if dry_run else writing(app)
    workflow = meant(app, synced, name)
    if dry_run:
        run = files.read(synced.place.store, folder_of(synced.place, workflow.key))
        found = reconcile.reconciled(run, "")
        for line in found.lines or ("The files agree.",):
            say(one_line(line))
        return
    commit = commits.wanted(synced.place, files.slug_of(workflow.key))
    changed = lifecycle.repair(synced.place, workflow.key)
    for line in changed.lines or ("The files agree.",):
        say(one_line(line))
    if changed.lines:
        tell_now(synced, workflow.key, "reconciled")
    commits.make(synced.place, commit, changed.run)
