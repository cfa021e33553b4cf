"""Commands that check whether Holdfast works here, and help to debug it."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from holdfast import __version__
from holdfast.agents import clients
from holdfast.agents.clients import CLAUDE, CLIENTS, Client
from holdfast.cli import terminal
from holdfast.cli.app import App, agent_option, dump, json_option, pass_app, say
from holdfast.cli.terminal import put
from holdfast.clock import local
from holdfast.errors import HoldfastError
from holdfast.setup.doctor import Finding, project, registered
from holdfast.text.plaintext import counted, one_line
from holdfast.workflows import sync


@click.command()
@agent_option
@click.option(
    "--delivery", is_flag=True, help="Show only what reached the model after the last compaction."
)
@click.option(
    "--transcript",
    "file",
    type=click.Path(path_type=Path),
    help="With --delivery: the transcript to read (default: this session's, else the latest here).",
)
@click.option("--fix", is_flag=True, help="Make the repairs that lose nothing.")
@json_option
@pass_app
def doctor(
    app: App, agent: str, delivery: bool, file: Path | None, fix: bool, as_json: bool
) -> None:
    """Check whether Holdfast works here. Exit code 1 if something is wrong."""
    client = CLIENTS[agent]
    if (file and not delivery) or (fix and delivery):
        raise click.UsageError("Use --transcript only with --delivery, and --fix only without it.")
    if delivery and client is not CLAUDE:
        raise click.UsageError(f"--delivery reads only {CLAUDE.title}'s transcripts.")
    if delivery:
        whole = _deliver(app, file, as_json=as_json)
    else:
        whole = _check(app, client, fix, as_json=as_json)
    click.get_current_context().exit(0 if whole else 1)


def _check(app: App, client: Client, fix: bool, *, as_json: bool) -> bool:
    findings = list(_findings(app, client))
    done = list(_repaired(app)) if fix and any(finding.safe for finding in findings) else []
    if done:
        findings = list(_findings(app, client))
    wrong = [finding for finding in findings if finding.level == "wrong"]
    if as_json:
        facts = {"version": __version__, "python": platform.python_version()}
        listed = [finding._asdict() for finding in findings]
        dump({**facts, "whole": not wrong, "fixed": done, "findings": listed})
    else:
        _tell(findings, done)
    return not wrong


def _findings(app: App, client: Client) -> Iterator[Finding]:
    here = app.surroundings
    view = sync.survey(here.session, here, app.clock)  # that Holdfast is switched off is a finding
    yield from registered.examine(here, client)
    yield from registered.examine_client(client)
    yield from project.examine(view, here)
    if client is CLAUDE:  # other agents' transcripts have other formats
        yield from project.examine_delivery(view)


def _repaired(app: App) -> Iterator[str]:
    """Make the safe repairs; report those that fail."""
    try:
        # Like a hook, this sets unreadable files aside and uses their last good copies.
        view = app.change()
        yield from project.repaired(view)
        yield from (f"not repaired: {failure.cause}" for failure in view.failures.values())
    except HoldfastError as error:
        yield f"not repaired: {error.cause}"


_SIGNS = {
    "good": ("ok", terminal.GOOD),
    "note": ("note", terminal.WARNING),
    "wrong": ("WRONG", terminal.BAD),
}
_LABEL = 19  # columns before a finding


def _tell(findings: list[Finding], done: list[str]) -> None:
    put(f"Holdfast {__version__}, Python {platform.python_version()}, {sys.prefix}")
    for text in done:
        put(one_line(text, 400), lead="  done".ljust(_LABEL))
    for finding in findings:
        sign, style = _SIGNS[finding.level]
        lead = f"  {sign:<6} {finding.check}".ljust(_LABEL)
        put(one_line(finding.what, 400), lead=lead, style=style)
        if finding.cause:
            put(one_line(finding.cause, 400), lead=" " * _LABEL)
        if finding.fix:
            say(f"{'':{_LABEL}}fix: {finding.fix}")  # on one line, for copying
    wrong = sum(finding.level == "wrong" for finding in findings)
    count = f"{counted(wrong, 'thing')} wrong." if wrong else "Nothing is wrong."
    is_safe = any(finding.safe for finding in findings)
    put(f"{count} `holdfast doctor --fix` repairs some." if is_safe else count)


def _deliver(app: App, file: Path | None, *, as_json: bool) -> bool:
    found = project.delivered(app.look(), file)
    compaction = found.compaction
    if as_json:
        facts = {"transcript": str(found.transcript), "at": compaction.at}
        facts |= {"trigger": compaction.trigger, "nothing_due": found.nothing_due}
        pieces = [piece._asdict() for piece in found.pieces]
        dump({**facts, "whole": found.whole, "findings": pieces})
        return found.whole
    say(f"Transcript: {found.transcript}")
    say(f"Last compaction: {local(compaction.at)} ({compaction.trigger})")
    if found.nothing_due:
        say(f"There was nothing to deliver: {found.nothing_due}")
    for piece in found.pieces:
        became = piece.became if piece.became == "arrived" else piece.became.upper()
        say(f"  {piece.what:<14} {became:<8} {one_line(piece.detail, 400)}")
    return found.whole


_RECORDED = sorted({name for agent in CLIENTS for name in clients.payload_names(agent)})


@click.command()
@agent_option
@click.argument("name", required=False, type=click.Choice(_RECORDED))
@pass_app
def payload(app: App, agent: str, name: str | None) -> None:
    """Print the input that the real client sends to an event's hooks, as if sent from here.

    To try a hook by hand: holdfast payload PreCompact | holdfast hook
    """
    known = clients.payload_names(agent)
    if name is None:
        say("\n".join(known))
        return
    if name not in known:
        raise click.BadParameter(f"{agent} has only {', '.join(known)}.", param_hint="NAME")
    say(json.dumps(clients.payload(name, app.surroundings.cwd, agent), indent=2))
