"""Read-only commands: status, lists, explanations and logs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from holdfast.cli import shown, terminal
from holdfast.cli.app import (
    App,
    Whole,
    dump,
    json_option,
    pass_app,
    say,
    say_aside,
    workflow_name,
    workflow_option,
)
from holdfast.cli.terminal import put
from holdfast.clock import local
from holdfast.errors import HoldfastError, IllegalMove, StateUnreadable
from holdfast.files.regular import read_file
from holdfast.files.store import LARGEST
from holdfast.formats import registry
from holdfast.formats.canonical import explaining, files, matching
from holdfast.formats.engine.workflow import as_text
from holdfast.records import hooklog, ledger
from holdfast.restoring import restore
from holdfast.restoring.reading import resolve
from holdfast.text.plaintext import counted, one_line
from holdfast.text.room import pad
from holdfast.workflows import activity, sync
from holdfast.workflows.sync import ProjectView


@click.command()
@json_option
@workflow_name()
@pass_app
def status(app: App, name: str | None, as_json: bool) -> None:
    """Show the status of this session's workflow."""
    view = app.look()
    choice = view.choice()
    workflow = app.meant(view, name) if name or choice.chosen else None
    shown.status(view, workflow, as_json=as_json)
    if not (workflow or as_json):
        _tell_what_is_missing(view)
        put("See: holdfast why", whole=f"No active workflow in {view.root}.")
        for other in choice.others:
            if other.standing != "ignored":
                put(one_line(restore.in_brief(other)), lead="  ")
        for line in [*map(str, view.candidates)] or [sync.way_on(view)]:
            say(f"  {line}")


def _tell_what_is_missing(view: ProjectView) -> None:
    """Warn that some workflows may be missing from the output."""
    for failure in view.failures.values():
        say_aside(failure.cause)


@click.command("list")
@click.option("--all", "ended_too", is_flag=True, help="Include finished workflows.")
@json_option
@pass_app
def list_all(app: App, as_json: bool, ended_too: bool) -> None:
    """List the workflows, newest first; * marks this session's."""
    view = app.look()
    _tell_what_is_missing(view)
    choice = view.choice()
    found = [workflow for workflow in (choice.chosen, *choice.others) if workflow]
    found.sort(key=lambda workflow: workflow.changed_at, reverse=True)
    ended = ledger.load(view.place.store).finished
    finished = {one.key for one in found if one.standing == "finished"} | ended.keys()
    ordered = [one for one in found if ended_too or one.standing != "finished"]
    if as_json:
        dump([shown.facts(workflow) for workflow in ordered])
        return
    if not ordered:
        put("See: holdfast why", whole=f"No workflows in {view.root}.")
    for workflow in ordered:
        shown.entry(view, workflow, chosen=workflow is choice.chosen)
    if finished and not ended_too:
        put(f"{len(finished)} finished: holdfast list --all", style=terminal.FAINT)
        return
    known = {workflow.key for workflow in ordered}
    for key, stone in ended.items():
        if key not in known:
            name, command = one_line(stone.name), shlex.join(["holdfast", "resume", stone.name])
            how = f"{stone.how} on {one_line(stone.at[:10])}; {one_line(command)}"
            put(f"{name}: {how}", lead="  ", style=terminal.FAINT)


@click.command()
@json_option
@workflow_name()
@pass_app
def show(app: App, name: str | None, as_json: bool) -> None:
    """Show everything about a workflow, unabridged."""
    view = app.look()
    workflow = app.meant(view, name)
    seen = view.observed(workflow)
    if as_json:
        dump({**shown.facts(workflow), "observed": seen})
        return
    briefing = workflow.briefing
    terminal.line(f"{briefing.name}  ({briefing.kind})")
    if briefing.has_phases:
        terminal.line(f"phase: {briefing.count} {briefing.phase_name}".rstrip())
    terminal.line(f"status: {briefing.status}")
    terminal.line(f"next action: {briefing.next_action or '-'}")
    terminal.line(f"gate: {briefing.gate or '-'}")
    files = resolve(view.place.root, briefing.reading, view.place.settings.reading_roots)
    troubles = [f"  ({file.trouble})" if file.trouble else "" for file in files]
    reading = [f"@{file.path}{trouble}" for file, trouble in zip(files, troubles, strict=True)]
    _section("required reading", reading)
    _section("key reminders", briefing.reminders)
    _section("context", [f"{key}: {as_text(value)}" for key, value in briefing.context])
    _section("observed", activity.in_words(seen, view.place.now, _ALL))
    terminal.line(f"state: {briefing.state_path or 'not saved yet'}")


_ALL = 1_000_000  # units: never shortened


def _section(title: str, lines: Sequence[str]) -> None:
    if lines:
        terminal.line(f"{title}:")
        for line in lines:
            terminal.line(f"  {line}")


_SET_ASIDE = 5  # files listed by name


@click.command()
@click.argument("file", required=False)
@json_option
@pass_app
def why(app: App, file: str | None, as_json: bool) -> None:
    """Explain what was detected, saved or restored, and why.

    With FILE, a plan or CLAUDE.local.md: how each of its lines was read, and what to change.
    """
    view = app.look()
    if file:
        found = explanation(view, app.below_root(view, file))
        if as_json:
            dump(found)
            return
        print_explanation(found)
        for line in found["lines"]:
            print_line(line)
        if not found["lines"]:
            terminal.line("No line describes a workflow.")
        return
    sync.look_everywhere(view)
    store = view.place.store
    set_aside = sorted(entry.path for entry in store.entries(store.private / "quarantine"))
    for path in set_aside[-_SET_ASIDE:]:
        view.looked.append((store.relative(Path(path)), "it was set aside"))
    choice = view.choice()
    facts = {
        "root": view.root,
        "searched": view.searched,
        "switched_off": view.place.off or None,
        "looked": [{"path": path, "found": found} for path, found in view.looked],
        "session": view.session,
        "chosen": choice.chosen and choice.chosen.name,
        "why": choice.why,
        "others": [restore.in_brief(other) for other in choice.others],
        "candidates": [str(plan) for plan in view.candidates],
        "notes": view.notes,
        "last_runs": list(hooklog.read(app.surroundings.state_dir, view.root))[-3:],
    }
    if as_json:
        dump(facts)
        return
    for line in _explained(facts, view.place.settings.plans, sync.way_on(view)):
        terminal.line(line)


_VERDICTS = {
    "active": "it says that work is in progress",
    "candidate": "it looks like a plan",
    "ended": "its workflow has ended",
    "over": "it says that work has ended",
    "unbegun": "it does not say that work is in progress",
    "none": "it declares nothing",
}


def explanation(view: ProjectView, path: str) -> dict[str, Any]:
    """What was understood of the file at *path* below the root, and what would make it count here."""
    declared = (
        known
        for known in view.workflows
        if known.source == path or (known.declared == "local" and path == files.LOCAL)
    )
    found = explaining.explain(view.place, path, is_kept=any(known.kept for known in declared))
    record = ledger.load(view.place.store)
    key, is_seen = matching.by_plan(path), any(path == seen for seen, _ in view.looked)
    if found["verdict"] == "ended":
        return found
    if path in record.followed:
        found["why"] += "; followed by `holdfast follow`"
        found["change"] = ""
    elif key in record.ignored:
        found["change"] = f"it was unfollowed here; {shlex.join(['holdfast', 'follow', path])}"
    elif not is_seen:
        found["change"] = (
            f"Holdfast does not look for plans there; {shlex.join(['holdfast', 'follow', path])}"
        )
    return found


def print_explanation(found: Mapping[str, Any]) -> None:
    """Print what a file is taken for; its lines are left to the caller."""
    terminal.line(
        f"{one_line(found['file'])}: {_VERDICTS[found['verdict']]} ({one_line(found['why'])})"
    )
    has_ended = found["verdict"] == "ended"
    if found["change"]:
        purpose = "To take it up again" if has_ended else "To have it followed"
        terminal.line(f"{purpose}: {found['change']}")
    if found["workflow"]:
        is_counted = found["phases"] and not has_ended  # it may have ended in another phase
        where = f", phase {found['phase']} of {found['phases']}" if is_counted else ""
        is_followed = found["verdict"] == "active"
        label = "Workflow" if is_followed or has_ended else "The workflow would be"
        terminal.line(f"{label}: {one_line(found['workflow'])}{where}")


def print_line(line: Mapping[str, Any]) -> None:
    what = line["understood"] or f"NOT UNDERSTOOD: {line['change']}"
    style = terminal.PLAIN if line["understood"] else terminal.WARNING
    text = pad(one_line(line["text"]), terminal.columns() // 2 - 9)
    put(one_line(what), lead=f"{line['line']:>5}  {text}  ", style=style)


def _explained(facts: Mapping[str, Any], plans: Sequence[str], way_on: str) -> Iterator[str]:
    yield f"Project root: {facts['root']}"
    for folder in facts["searched"]:
        if folder != facts["root"]:
            yield f"  also searched: {folder}"
    if facts["switched_off"]:
        yield f"Switched off: {facts['switched_off']}."
    yield "Looked at:"
    for looked in facts["looked"]:
        yield f"  {one_line(looked['path'])}: {one_line(looked['found'])}"
    if not facts["looked"]:
        yield f"  nothing: no CLAUDE.local.md, no plan ({', '.join(plans)}), no state file"
    chosen, reason = facts["chosen"], facts["why"]
    whom = "" if facts["session"] else " for a session that has worked on none"
    what = f"Chosen{whom}: {one_line(chosen)}, because" if chosen else "Nothing chosen:"
    yield f"{what} {reason}."
    for other in facts["others"]:
        yield f"  not chosen: {one_line(other)}"
    yield from facts["candidates"]
    if not (chosen or facts["candidates"]):
        yield f"{way_on}."
    for note in facts["notes"]:
        yield f"Note: {one_line(note)}"
    runs = facts["last_runs"]
    yield "Last hook runs:" if runs else "No hook has run here yet."
    for record in runs:
        yield f"  {_run_line(record)}"
        # The workflow that the hook chose, in quotes, and why.
        said = map(one_line, record.get("why") or ())
        yield from (f"    {line}" for line in said if line.startswith(("'", '"')))


def _run_line(record: dict[str, object]) -> str:
    event = f"{record.get('event') or '?'}({record.get('source') or ''})"
    at = local(str(record.get("at", "")))
    who = str(record.get("session") or "-")[:8]
    took = f"{record.get('ms')} ms{', prepared' if record.get('prepared') else ''}"
    return one_line(f"{at}  {who:<8}  {event:<24}  {record.get('decided')}  [{took}]", 200)


@click.command()
@workflow_name()
@click.option(
    "--source",
    type=click.Choice(["compact", "resume", "fork"]),
    default="compact",
    show_default=True,
    help="How the session starts.",
)
@click.option("--part", type=Whole(1), help="Show this part of the required reading instead.")
@json_option
@pass_app
def preview(app: App, name: str | None, source: str, part: int | None, as_json: bool) -> None:
    """Print what a compaction would restore now, or a part of the required reading."""
    view = app.look()
    workflow = app.meant(view, name)
    plan = restore.reading_of(view, workflow, source)
    if part is not None and part > len(plan.parts):
        raise IllegalMove(
            f"the reading has {counted(len(plan.parts), 'part')}",
            hint="List them: holdfast preview",
        )
    guidance = restore.text(view, workflow, source, plan)
    if as_json:
        facts = {"workflow": workflow.name, "source": source, "guidance": guidance}
        dump({**facts, "parts": plan.parts})
    else:
        # Exactly as sent; control characters were removed earlier.
        click.echo(plan.parts[part - 1] if part is not None else guidance)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def inspect(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Show the format of a state FILE and any problems. Exit code 1 if there are any."""
    try:
        raw, _ = read_file(file, LARGEST)
    except StateUnreadable as error:
        raise HoldfastError(error.cause) from error
    report = next(filter(None, (form.inspect(file, raw) for form in registry.every())), None)
    if report is None:
        raise HoldfastError(
            f"{file}: not in a workflow format that Holdfast knows",
            hint="This command checks state files. For markdown: holdfast why FILE",
        )
    if as_json:
        dump({"file": str(file), **report._asdict(), "valid": not report.problems})
    elif not report.problems:
        say(f"{file}: valid, format {report.format}")
    else:
        say(f"{file}: format {report.format}, {counted(len(report.problems), 'problem')}")
        for problem in report.problems:
            say(f"  {problem}")
    ctx.exit(1 if report.problems else 0)


@click.command()
@json_option
@click.option(
    "-n", "--last", type=Whole(1), default=20, show_default=True, help="How many to show."
)
@click.option("--hooks", is_flag=True, help="Show what the hooks did here.")
@workflow_option
@pass_app
def log(app: App, as_json: bool, last: int, hooks: bool, name: str | None) -> None:
    """Show what happened to the workflow, if its format keeps that; else what the hooks did here."""
    view = app.look()
    events = None if hooks else _history(app, view, name)
    if events is not None:
        _print_events(events[-last:], as_json=as_json)
        return
    records = list(hooklog.read(app.surroundings.state_dir, view.root))[-last:]
    for line in hooklog.passed_over(app.surroundings.state_dir, view.root):
        say_aside(line)
    if as_json:
        dump(records)
        return
    if not records:
        say(f"No hook has run for {view.root} yet.")
    for record in records:
        terminal.line(_run_line(record))
        reasons = record.get("why")
        for reason in reasons if isinstance(reasons, list) else ():
            terminal.line(f"      {one_line(str(reason))}")


def _history(app: App, view: ProjectView, name: str | None) -> list[dict[str, Any]] | None:
    """The events of the workflow, oldest first; None where there is none, or its format keeps no events."""
    if not name and view.choice().chosen is None:
        return None
    workflow = app.meant(view, name)
    form = registry.format_of(workflow)
    entry = form.look(view.place).find(workflow.key)
    return form.history(view.place, entry) if entry else None


def _print_events(events: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        dump(events)
        return
    for event in events:
        details = [
            f"{key} {as_text(value)}"
            for key, value in event.items()
            if key not in {"at", "event"} and value not in (None, "", [], {})
        ]
        terminal.line(
            f"{local(str(event['at']))}  {event['event']}: {one_line(', '.join(details))}"
        )
