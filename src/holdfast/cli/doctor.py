"""Commands that check whether Holdfast works here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from holdfast import evidence, hooklog, transcript
from holdfast.cli.app import App, dump, json_option, say
from holdfast.errors import HoldfastError, NoSuchWorkflow
from holdfast.plaintext import one_line
from holdfast.sync import Synced


@click.command()
@click.option(
    "--delivery",
    is_flag=True,
    help="What reached the model after the last compaction, piece by piece.",
)
@click.option(
    "--transcript",
    "file",
    type=click.Path(path_type=Path),
    help="The session's transcript; else that of this session, or of the last one here.",
)
@json_option
@click.pass_context
def doctor(ctx: click.Context, delivery: bool, file: Path | None, as_json: bool) -> None:
    """Check whether Holdfast works here. Exit code 1 when something does not."""
    app = ctx.find_object(App)
    if app is None or not delivery:
        raise click.UsageError("Say what to check: --delivery.")
    synced = app.look()
    path = file or _transcript(app, synced)
    compaction = transcript.last_compaction(path)
    if compaction is None:
        raise HoldfastError(f"{path} tells of no compaction")
    found = evidence.findings(compaction)
    nothing = _nothing_due(app, synced, path) if found[0].became == "missing" else ""
    if nothing:
        found = []
    whole = all(each.became == "arrived" for each in found)
    if as_json:
        facts = {"transcript": str(path), "at": compaction.at, "trigger": compaction.trigger}
        facts |= {"nothing_due": nothing}
        dump({**facts, "whole": whole, "findings": [asdict(each) for each in found]})
    else:
        say(f"Transcript: {path}")
        say(f"Last compaction: {compaction.at[:19]}Z ({compaction.trigger})")
        if nothing:
            say(f"Nothing was to be delivered: {nothing}")
        for each in found:
            became = each.became if each.became == "arrived" else each.became.upper()
            say(f"  {each.what:<14} {became:<8} {one_line(each.detail, 400)}")
    ctx.exit(0 if whole else 1)


def _restores(app: App, synced: Synced) -> Iterator[dict[str, object]]:
    """What the log tells of the main hooks of sessions here, the last one first."""
    records = list(hooklog.read(app.surroundings.state_dir, synced.root))
    return (each for each in reversed(records) if isinstance(each.get("transcript"), str))


def _nothing_due(app: App, synced: Synced, path: Path) -> str:
    """Why nothing was to be restored at the last compaction that *path* tells of, if so."""
    for record in _restores(app, synced):
        if record["transcript"] == str(path) and record.get("source") == "compact":
            decided = str(record.get("decided"))
            return "" if decided.startswith(("restored", "failed")) else decided
    choice = synced.choice()
    return "" if choice.chosen else choice.why


def _transcript(app: App, synced: Synced) -> Path:
    """Where this session, or else the last one that was restored here, is written down."""
    session = app.surroundings.session
    for record in _restores(app, synced):
        if not session or record.get("session") == session:
            return Path(str(record["transcript"]))
    raise NoSuchWorkflow(
        f"no session is known for {synced.root}",
        hint="Name its transcript: holdfast doctor --delivery --transcript FILE",
    )


COMMANDS = (doctor,)
