"""Commands that play compaction cycles: in the project, or in a throw-away one."""

from __future__ import annotations

import gc
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from holdfast import compactions, hooklog, sessions, sync
from holdfast.cli import terminal
from holdfast.cli.app import App, dump, json_option, pass_app, say
from holdfast.errors import IllegalMove
from holdfast.plaintext import shorten
from holdfast.project import variables_of_home
from holdfast.room import units
from holdfast.simulate import Cycle, InProcess, InSubprocess, Session, cycle
from holdfast.store import COMMAND_WAIT


@click.command()
@click.option(
    "-n", "--cycles", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many."
)
@click.option("--session", help="Play as this session; otherwise as the one that calls it.")
@click.option("--new", is_flag=True, help="Play as a session that is new.")
@click.option(
    "--trigger", type=click.Choice(["manual", "auto"]), default="manual", help="What sets it off."
)
@click.option("--no-pre-compact", is_flag=True, help="As if PreCompact had not run.")
@click.option("--subprocess", "in_subprocess", is_flag=True, help="A new process for each hook.")
@json_option
@pass_app
def simulate(
    app: App,
    cycles: int,
    session: str | None,
    new: bool,
    trigger: str,
    no_pre_compact: bool,
    in_subprocess: bool,
    as_json: bool,
) -> None:
    """Play compactions here through the real hooks, and show what they answer.

    The hooks save, as they do in a real compaction, but take no checkpoint. The log, the record of sessions and the count
    of compactions stay as they are. Exit code 1 when nothing is restored.
    """
    if session and new:
        raise click.UsageError("--session names a session, --new is for none: give one of them.")
    gc.enable()  # which commands do without; here it may be any number of hooks in one process
    here = app.surroundings
    session = None if new else session or here.session
    app.look()  # says so when everything is switched off
    synced = sync.run(here.cwd, session, here, app.clock, wait=None)
    claims = sessions.others(here.state_dir, session, synced.root)
    claims += [synced.claim] if synced.claim else []
    with tempfile.TemporaryDirectory(prefix="holdfast-simulate-") as folder:
        state_dir = os.path.join(folder, "holdfast")
        for claim in claims:
            sessions.remember(state_dir, claim, app.clock.now())
        door = (
            InSubprocess({**os.environ, "XDG_STATE_HOME": folder, "HOLDFAST_PLAYED": "1"}, here.cwd)
            if in_subprocess
            else InProcess(here._replace(state_dir=state_dir, played=True), app.clock)
        )
        who = Session(session or "simulated", here.cwd)
        with compactions.uncounted(synced.place, synced.workflows, COMMAND_WAIT):
            played = [
                cycle(door, who, trigger=trigger, pre_compact=not no_pre_compact)
                for _ in range(cycles)
            ]
        decided = {
            each.get("event"): str(each.get("decided"))
            for each in hooklog.read(state_dir, synced.root)
        }
    if as_json:
        dump(
            [{key: value for key, value in asdict(c).items() if key != "outcomes"} for c in played]
        )
    else:
        _tell_all(played, decided.get("PostCompact", ""))
    if not played[-1].guidance:
        raise IllegalMove(
            decided.get("SessionStart", f"nothing restored: {synced.choice().why}"),
            hint="`holdfast why` tells what was looked at.",
        )


_SHOWN = 400  # of a part of the reading


def _tell_all(played: Sequence[Cycle], noted: str) -> None:
    """The last of the cycles, and what PostCompact *noted* of it."""
    last = played[-1]
    _tell(last)
    if not last.guidance:
        return
    if noted:
        made_up = ", with a summary made up from PreCompact's note" if last.note else ""
        _heading(f"PostCompact notes{made_up}")
        say(noted)
    if len(played) > 1:
        same = len({(each.note, each.guidance) for each in played}) == 1
        alike = "all answered alike" if same else "the last one is shown"
        say(f"\n{len(played)} cycles, {alike}.")


def _tell(played: Cycle) -> None:
    told = {
        "PreCompact tells the summariser": played.note,
        "SessionStart(compact) tells the model": played.guidance,
        "SessionStart(compact) tells the person": played.message,
    }
    for title, text in told.items() if any(told.values()) else ():
        _heading(title)
        terminal.line(text or "(nothing)")
    for number, part in enumerate(played.reading, 1):
        _heading(f"SessionStart(compact) --part {number} sends the model")
        terminal.line(shorten(part, _SHOWN))
        if units(part) > _SHOWN:
            say(f"({units(part):,} characters in all)")
    for outcome in played.outcomes:
        if outcome.stderr:
            say(f"stderr, exit code {outcome.code}: {outcome.stderr}")


def _heading(title: str) -> None:
    click.secho(f"--- {title} ---", bold=True)


_PLAN = """\
# Plan 001: User Auth

**Status**: 🔄 In Progress

## Required Reading
- @docs/auth-guide.md

## Phase 1: Design
- [x] Choose the token format
- [x] Gate: the design is reviewed

## Phase 2: Build
- [x] Write the login form
- [ ] Connect the session store
- [ ] Gate: all tests pass

## Phase 3: Ship
- [ ] Write the release notes

## Key Reminders
- Use the existing auth patterns
"""


@click.command()
def demo() -> None:
    """One whole compaction cycle in a throw-away project, with nothing of yours touched."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        _play(Path(folder))


def _play(folder: Path) -> None:
    project, home = folder / "project", folder / "home"
    plan = project / "CLAUDE" / "Plan" / "001-user-auth" / "PLAN.md"
    plan.parent.mkdir(parents=True)
    plan.write_text(_PLAN, encoding="utf-8")
    (project / "docs").mkdir()
    guide = "# Auth guide\n\nSession cookies are HttpOnly.\n"
    (project / "docs" / "auth-guide.md").write_text(guide, encoding="utf-8")
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ},
        **variables_of_home(str(home)),
        "CLAUDE_CODE_SESSION_ID": "demo",
    }

    def step(title: str) -> None:
        click.secho(f"\n== {title}", bold=True)

    def agent(*arguments: str) -> None:
        say(f"$ holdfast {shlex.join(arguments)}")
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", *arguments],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        say(done.stdout.rstrip())

    step("1. A plan declares a workflow: CLAUDE/Plan/001-user-auth/PLAN.md")
    say(_PLAN.rstrip())
    step("2. The agent notes what must not be forgotten")
    agent("remind", "Tokens expire after 15 minutes")
    agent("context", "branch_policy=squash", "attempt=2")
    step("3. The conversation is compacted: PreCompact, SessionStart(compact), PostCompact")
    played = cycle(InSubprocess(environment, str(project)), Session("demo", str(project)))
    _tell(played)
    agent("status")
    step('4. What was saved (beside it, our own notes under "holdfast")')
    for state in sorted(project.glob("untracked/workflow-state/*/*.json")):
        say(str(state.relative_to(project)))
        say(_without_bookkeeping(state.read_text(encoding="utf-8")))
    step("5. The work goes on, and ends")
    agent("phase", "next")
    agent("phase", "set", "3", "--status", "completed")
    agent("complete")
    told = "\n".join([played.guidance, *played.reading])
    missing = [
        word for word in ("User Auth", "15 minutes", "squash", "HttpOnly") if word not in told
    ]
    if missing:
        raise click.ClickException(f"the demo did not bring back: {', '.join(missing)}")


def _without_bookkeeping(state: str) -> str:
    return json.dumps(
        {key: value for key, value in json.loads(state).items() if key != "holdfast"},
        ensure_ascii=False,
        indent=2,
    )


COMMANDS = (simulate, demo)
