"""Commands that look: what is there, where it stands, and why."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from holdfast import compactions, fates, hooklog, ledger, observing, restore
from holdfast.briefing import shown as as_text
from holdfast.cli import shown, terminal
from holdfast.cli.app import App, dump, json_option, pass_app, say, say_aside
from holdfast.cli.naming import name_argument, workflow_option
from holdfast.cli.terminal import put
from holdfast.clock import from_mtime, iso
from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.formats import registry
from holdfast.formats.base import Workflow
from holdfast.plaintext import counted, one_line
from holdfast.reading import resolve
from holdfast.records import as_dict
from holdfast.regular import read_file
from holdfast.store import LARGEST
from holdfast.sync import Synced


def _facts(workflow: Workflow) -> dict[str, Any]:
    declared_at = iso(from_mtime(workflow.declared_at)) if workflow.declared else None
    return {
        **as_dict(workflow),
        "declared_at": declared_at,
        "briefing": {**as_dict(workflow.briefing), "context": dict(workflow.briefing.context)},
    }


@click.command()
@json_option
@workflow_option
@pass_app
def status(app: App, name: str | None, as_json: bool) -> None:
    """Where this session's workflow stands."""
    synced = app.look()
    choice = synced.choice()
    if as_json:
        dump(_standing(app, synced, name))
        return
    if choice.chosen is None and not name:
        _tell_what_is_missing(synced)
        put("See: holdfast why", whole=f"No active workflow in {synced.root}.")
        for each in choice.others:
            put(one_line(restore.in_brief(each)), lead="  ")
        return
    workflow = app.meant(synced, name)
    why = choice.why if workflow is choice.chosen else "by name"
    shown.sheet(synced, workflow, compactions.survived(synced.place, workflow), why)


def _tell_what_is_missing(synced: Synced) -> None:
    """That the system did not let us look everywhere; there may be workflows that are not shown."""
    if synced.failure:
        say_aside(synced.failure.cause)


def _standing(app: App, synced: Synced, name: str | None) -> dict[str, Any]:
    """What `status` tells, for programs."""
    choice = synced.choice()
    facts: dict[str, Any] = {"root": synced.root, "why": choice.why}
    if choice.chosen is None and not name:
        return {
            **facts,
            "workflow": None,
            "reading": None,
            "compactions": None,
            "cautions": [],
            "notes": synced.notes,
        }
    chosen = app.meant(synced, name)
    return {
        **facts,
        "workflow": _facts(chosen),
        "reading": as_dict(fates.of(synced, chosen)),
        "compactions": compactions.survived(synced.place, chosen).facts,
        "cautions": restore.cautions(synced, chosen),
        "notes": synced.notes,
    }


@click.command("list")
@json_option
@pass_app
def list_all(app: App, as_json: bool) -> None:
    """All workflows of the project; * marks the one that this session gets."""
    synced = app.look()
    _tell_what_is_missing(synced)
    choice = synced.choice()
    ordered = [each for each in (choice.chosen, *choice.others) if each]
    if as_json:
        dump([_facts(each) for each in ordered])
        return
    if not ordered:
        put("See: holdfast why", whole=f"No workflows in {synced.root}.")
    for each in ordered:
        shown.entry(each, chosen=each is choice.chosen)
    known = {each.key for each in ordered}
    for key, stone in ledger.load(synced.place.store).finished.items():
        if key not in known:
            name, command = one_line(stone.name), shlex.join(["holdfast", "resume", stone.name])
            ended = f"{stone.how} on {one_line(stone.at[:10])}; {one_line(command)}"
            put(f"{name}: {ended}", lead="  ", style=terminal.FAINT)


@click.command()
@json_option
@name_argument()
@pass_app
def show(app: App, name: str | None, as_json: bool) -> None:
    """Everything that is kept of a workflow, nothing shortened."""
    synced = app.look()
    workflow = app.meant(synced, name)
    seen = synced.observed(workflow)
    if as_json:
        dump({**_facts(workflow), "observed": seen})
        return
    briefing = workflow.briefing
    terminal.line(f"{briefing.name}  ({briefing.kind})")
    terminal.line(f"phase: {briefing.count} {briefing.phase_name}")
    terminal.line(f"status: {briefing.status}")
    terminal.line(f"next action: {briefing.next_action or '-'}")
    terminal.line(f"gate: {briefing.gate or '-'}")
    items = resolve(synced.place.root, briefing.reading, synced.place.settings.reading_roots)
    _section(
        "required reading",
        [f"@{item.path}" + (f"  ({item.trouble})" if item.trouble else "") for item in items],
    )
    _section("key reminders", list(briefing.reminders))
    _section("context", [f"{key}: {as_text(value)}" for key, value in briefing.context])
    _section("observed", observing.told(seen, synced.place.now, _ALL))
    terminal.line(f"state: {briefing.state_path or 'not saved yet'}")


_ALL = 1_000_000  # units; nothing is shortened


def _section(title: str, lines: list[str]) -> None:
    if lines:
        terminal.line(f"{title}:")
        for line in lines:
            terminal.line(f"  {line}")


@click.command()
@json_option
@pass_app
def why(app: App, as_json: bool) -> None:
    """What was looked at, and why something was or was not detected, saved or restored."""
    synced = app.look(thorough=True)
    choice = synced.choice()
    facts = {
        "root": synced.root,
        "searched": synced.searched,
        "switched_off": app.switched_off(synced),
        "looked": [{"path": path, "found": found} for path, found in synced.looked],
        "chosen": choice.chosen and choice.chosen.name,
        "why": choice.why,
        "others": [restore.in_brief(each) for each in choice.others],
        "notes": synced.notes,
        "last_runs": _last_runs(app, synced),
    }
    if as_json:
        dump(facts)
        return
    for each in _explained(facts, synced.place.settings.plans):
        terminal.line(each)


def _explained(facts: Mapping[str, Any], plans: Sequence[str]) -> Iterator[str]:
    yield f"Project root: {facts['root']}"
    for folder in facts["searched"]:
        if folder != facts["root"]:
            yield f"  also searched: {folder}"
    if facts["switched_off"]:
        yield f"Switched off: {facts['switched_off']}."
    yield "Looked at:"
    for each in facts["looked"]:
        yield f"  {one_line(each['path'])}: {one_line(each['found'])}"
    if not facts["looked"]:
        yield f"  nothing there: no CLAUDE.local.md, no plan ({', '.join(plans)}), no state file"
    chosen, reason = facts["chosen"], facts["why"]
    yield (
        f"Chosen: {one_line(chosen)}, because {reason}." if chosen else f"Nothing chosen: {reason}."
    )
    for other in facts["others"]:
        yield f"  not chosen: {one_line(other)}"
    for note in facts["notes"]:
        yield f"Note: {one_line(note)}"
    runs = facts["last_runs"]
    yield "Last hook runs:" if runs else "No hook has run here yet (holdfast log)."
    for record in runs:
        yield f"  {_run_line(record)}"


def _last_runs(app: App, synced: Synced) -> list[dict[str, object]]:
    return list(hooklog.read(app.surroundings.state_dir, synced.root))[-3:]


def _run_line(record: dict[str, object]) -> str:
    event = f"{record.get('event') or '?'}({record.get('source') or ''})"
    at = str(record.get("at", ""))[:19]
    who = str(record.get("session") or "-")[:8]
    took = f"{record.get('ms')} ms{', prepared' if record.get('prepared') else ''}"
    return one_line(f"{at}Z  {who:<8}  {event:<24}  {record.get('decided')}  [{took}]", 200)


@click.command()
@workflow_option
@click.option(
    "--source",
    type=click.Choice(["compact", "resume", "fork"]),
    default="compact",
    show_default=True,
    help="What the session begins with.",
)
@click.option("--part", type=click.IntRange(1), help="Show this part of the reading instead.")
@json_option
@pass_app
def preview(app: App, name: str | None, source: str, part: int | None, as_json: bool) -> None:
    """The guidance that a compaction would give now, or a part of the reading."""
    synced = app.look()
    workflow = app.meant(synced, name)
    plan = restore.reading_of(synced, workflow, source)
    if part is not None and part > len(plan.parts):
        raise IllegalMove(
            f"the reading has {counted(len(plan.parts), 'part')}", hint="See holdfast preview."
        )
    guidance = restore.text(synced, workflow, synced.choice(), source, plan)
    if as_json:
        facts = {"workflow": workflow.name, "source": source, "guidance": guidance}
        dump({**facts, "parts": plan.parts})
    else:
        # As it is sent: what could harm a terminal was taken out of it before.
        click.echo(plan.parts[part - 1] if part is not None else guidance)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def inspect(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Which format FILE is, and what is wrong with it. Exit code 1 when something is."""
    try:
        raw, _ = read_file(file, LARGEST)
    except StateUnreadable as error:
        raise HoldfastError(error.cause) from error
    report = next((found for each in registry.every() if (found := each.inspect(file, raw))), None)
    if report is None:
        raise HoldfastError(
            f"{file}: no workflow format that Holdfast knows",
            hint="This checks state files; what markdown declares is told by `holdfast why`.",
        )
    if as_json:
        dump({"file": str(file), **as_dict(report), "valid": not report.problems})
    elif not report.problems:
        say(f"{file}: valid, format {report.format}")
    else:
        say(f"{file}: format {report.format}, {len(report.problems)} wrong")
        for problem in report.problems:
            say(f"  {problem}")
    ctx.exit(1 if report.problems else 0)


@click.command()
@json_option
@click.option(
    "-n", "--last", type=click.IntRange(1), default=20, show_default=True, help="How many runs."
)
@pass_app
def log(app: App, as_json: bool, last: int) -> None:
    """The hook log of this project, readably."""
    synced = app.look()
    records = list(hooklog.read(app.surroundings.state_dir, synced.root))[-last:]
    for line in hooklog.passed_over(app.surroundings.state_dir, synced.root):
        say_aside(line)
    if as_json:
        dump(records)
        return
    if not records:
        say(f"No hook has run for {synced.root} yet.")
    for record in records:
        terminal.line(_run_line(record))
        reasons = record.get("why")
        for reason in reasons if isinstance(reasons, list) else ():
            terminal.line(f"      {one_line(str(reason))}")


COMMANDS = (status, list_all, show, why, preview, inspect, log)
