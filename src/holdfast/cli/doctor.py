"""Commands that check whether Holdfast works here, and help to find out why not."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from holdfast import __version__, checkup, payloads
from holdfast.checkup import delivered, kept
from holdfast.checkup.finding import Finding
from holdfast.cli import terminal
from holdfast.cli.app import App, agent_option, dump, json_option, pass_app, say
from holdfast.cli.terminal import put
from holdfast.clients import CLAUDE, CLIENTS, Client
from holdfast.errors import HoldfastError
from holdfast.plaintext import one_line


@click.command()
@agent_option
@click.option(
    "--delivery",
    is_flag=True,
    help="Only what reached the model after the last compaction, piece by piece.",
)
@click.option(
    "--transcript",
    "file",
    type=click.Path(path_type=Path),
    help="For --delivery: the session's transcript; else that of this session, or of the last here.",
)
@click.option("--fix", is_flag=True, help="Repair what can be repaired without a loss.")
@json_option
@click.pass_context
def doctor(
    ctx: click.Context, agent: str, delivery: bool, file: Path | None, fix: bool, as_json: bool
) -> None:
    """Check whether Holdfast works here. Exit code 1 when something is wrong."""
    app, client = ctx.find_object(App), CLIENTS[agent]
    if app is None or (file and not delivery) or (fix and delivery):
        raise click.UsageError("--transcript goes with --delivery, and --fix does not.")
    if delivery and client is not CLAUDE:
        raise click.UsageError(f"--delivery reads transcripts of {CLAUDE.title} alone.")
    if delivery:
        ctx.exit(0 if _deliver(app, file, as_json=as_json) else 1)
    ctx.exit(0 if _check(app, client, fix, as_json=as_json) else 1)


def _check(app: App, client: Client, fix: bool, *, as_json: bool) -> bool:
    findings = list(_findings(app, client))
    done = list(_repaired(app)) if fix and any(each.safe for each in findings) else []
    if done:
        findings = list(_findings(app, client))
    wrong = [each for each in findings if each.level == "wrong"]
    if as_json:
        facts = {"version": __version__, "python": platform.python_version()}
        listed = [each.facts() for each in findings]
        dump({**facts, "whole": not wrong, "fixed": done, "findings": listed})
    else:
        _tell(findings, done)
    return not wrong


def _findings(app: App, client: Client) -> Iterator[Finding]:
    synced = app.look(warn=False)  # that is a finding of its own
    return checkup.examine(synced, app.surroundings, client)


def _repaired(app: App) -> Iterator[str]:
    """Do what is safe; what fails is said, and is found again."""
    try:
        # What a hook does, too: what cannot be read is set aside, and its last good copy is used.
        yield from kept.repaired(app.change())
    except HoldfastError as error:
        yield f"not repaired: {error.cause}"


_SIGNS = {
    "good": ("ok", terminal.GOOD),
    "note": ("note", terminal.WARNING),
    "wrong": ("WRONG", terminal.BAD),
}
_LABEL = 19  # columns before what was found


def _tell(findings: list[Finding], done: list[str]) -> None:
    put(f"Holdfast {__version__}, Python {platform.python_version()}, {sys.prefix}")
    for text in done:
        put(one_line(text, 400), lead="  done".ljust(_LABEL))
    for each in findings:
        sign, style = _SIGNS[each.level]
        lead = f"  {sign:<6} {each.check}".ljust(_LABEL)
        put(one_line(each.what, 400), lead=lead, style=style)
        if each.cause:
            put(one_line(each.cause, 400), lead=" " * _LABEL)
        if each.fix:
            say(f"{'':{_LABEL}}fix: {each.fix}")  # in one line, to be copied
    wrong = sum(each.level == "wrong" for each in findings)
    count = "1 thing is" if wrong == 1 else f"{wrong} things are"
    safe = " `holdfast doctor --fix` repairs some." if any(each.safe for each in findings) else ""
    put((f"{count} wrong." if wrong else "Nothing is wrong.") + safe)


def _deliver(app: App, file: Path | None, *, as_json: bool) -> bool:
    found = delivered.look(app.look(), file)
    compaction = found.compaction
    if as_json:
        facts = {"transcript": str(found.transcript), "at": compaction.at}
        facts |= {"trigger": compaction.trigger, "nothing_due": found.nothing_due}
        pieces = [asdict(each) for each in found.pieces]
        dump({**facts, "whole": found.whole, "findings": pieces})
        return found.whole
    say(f"Transcript: {found.transcript}")
    say(f"Last compaction: {compaction.at[:19]}Z ({compaction.trigger})")
    if found.nothing_due:
        say(f"Nothing was to be delivered: {found.nothing_due}")
    for each in found.pieces:
        became = each.became if each.became == "arrived" else each.became.upper()
        say(f"  {each.what:<14} {became:<8} {one_line(each.detail, 400)}")
    return found.whole


_RECORDED = sorted({name for agent in CLIENTS for name in payloads.names(agent)})


@click.command()
@agent_option
@click.argument("name", required=False, type=click.Choice(_RECORDED))
@pass_app
def payload(app: App, agent: str, name: str | None) -> None:
    """Print what the real client gives to the hooks of an event, as if it came from here.

    To try a hook by hand: holdfast payload PreCompact | holdfast hook
    """
    known = payloads.names(agent)
    if name is None:
        for each in known:
            say(each)
        return
    if name not in known:
        raise click.BadParameter(f"of {agent} there are {', '.join(known)}.", param_hint="NAME")
    say(json.dumps(payloads.read(name, app.surroundings.cwd, agent), indent=2))


COMMANDS = (doctor, payload)
