"""Commands that check whether Holdfast works here."""

from __future__ import annotations

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
    path = file or _transcript(app, app.look())
    compaction = transcript.last_compaction(path)
    if compaction is None:
        raise HoldfastError(f"{path} tells of no compaction")
    found = evidence.findings(compaction)
    whole = all(each.became == "arrived" for each in found)
    if as_json:
        facts = {"transcript": str(path), "at": compaction.at, "trigger": compaction.trigger}
        dump({**facts, "whole": whole, "findings": [asdict(each) for each in found]})
    else:
        say(f"Transcript: {path}")
        say(f"Last compaction: {compaction.at[:19]}Z ({compaction.trigger})")
        for each in found:
            became = each.became if each.became == "arrived" else each.became.upper()
            say(f"  {each.what:<14} {became:<8} {one_line(each.detail, 400)}")
    ctx.exit(0 if whole else 1)


def _transcript(app: App, synced: Synced) -> Path:
    """Where this session, or else the last one that was restored here, is written down."""
    session = app.surroundings.session
    records = list(hooklog.read(app.surroundings.state_dir, synced.root))
    for record in reversed(records):
        path = record.get("transcript")
        if isinstance(path, str) and (not session or record.get("session") == session):
            return Path(path)
    raise NoSuchWorkflow(
        f"no session is known for {synced.root}",
        hint="Name its transcript: holdfast doctor --delivery --transcript FILE",
    )


COMMANDS = (doctor,)
