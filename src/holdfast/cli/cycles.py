"""Commands that simulate compactions, in the project or in a throw-away one."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from holdfast.cli import terminal
from holdfast.cli.app import App, Whole, dump, json_option, pass_app, say, warn_without_hooks
from holdfast.errors import IllegalMove
from holdfast.records import hooklog, sessionlog
from holdfast.records import session as sessions
from holdfast.restoring import compactions
from holdfast.testing import Compactions, MovableClock, Project
from holdfast.testing.simulate import Cycle, InProcess, InSubprocess, Session, cycle
from holdfast.text.plaintext import shorten
from holdfast.text.room import units
from holdfast.workflows import sync
from holdfast.workflows.sync import ProjectView


@click.command()
@click.option(
    "-n", "--cycles", type=Whole(1, 1000), default=1, show_default=True, help="How many to run."
)
@click.option("--session", help="Run as this session (default: the calling session).")
@click.option("--new", is_flag=True, help="Run as a new session.")
@click.option("--no-pre-compact", is_flag=True, help="Skip the PreCompact hook.")
@click.option("--subprocess", "in_subprocess", is_flag=True, help="Run each hook in a new process.")
@json_option
@pass_app
def simulate(
    app: App,
    cycles: int,
    session: str | None,
    new: bool,
    no_pre_compact: bool,
    in_subprocess: bool,
    as_json: bool,
) -> None:
    """Simulate compactions here with the real hooks, and show what they answer.

    The hooks save the state as in a real compaction, but take no checkpoint. The log, the session
    records and the compaction count do not change. Exit code 1 if nothing is restored.
    """
    if session and new:
        raise click.UsageError("Give --session or --new, not both.")
    gc.enable()  # off for short commands; here many hooks may run in one process
    here = app.surroundings
    session = None if new else session or here.session
    app.look()  # warns if Holdfast is switched off
    if not as_json:
        warn_without_hooks(here)
    view = sync.survey(session, here, app.clock)
    hooklog.note_project(view.place.user_folder, view.root)  # where the state is saved
    claims = sessions.others(here.state_dir, session, view.root)
    claims += [view.owned] if view.owned else []
    with tempfile.TemporaryDirectory(prefix="holdfast-simulate-") as folder:
        state_dir = os.path.join(folder, "holdfast")
        _copy_logs(view, claims, state_dir)
        for claim in claims:
            sessions.touch(state_dir, claim, app.clock.now())
        door = (
            InSubprocess({**os.environ, "XDG_STATE_HOME": folder, "HOLDFAST_PLAYED": "1"}, here.cwd)
            if in_subprocess
            else InProcess(here._replace(state_dir=state_dir, played=True), app.clock)
        )
        who = Session(session or "simulated", here.cwd)
        played = [cycle(door, who, pre_compact=not no_pre_compact) for _ in range(cycles)]
        runs = hooklog.read(state_dir, view.root)
        decided = {run.get("event"): str(run.get("decided")) for run in runs}
    if as_json:
        answers = [asdict(one) for one in played]
        dump([{key: one[key] for key in one if key != "outcomes"} for one in answers])
    else:
        _tell(played[-1], decided.get("PostCompact", ""))
        if len(played) > 1:
            same = len({(one.note, one.guidance) for one in played}) == 1
            alike = "all gave the same answers" if same else "the last one is shown"
            say(f"\n{len(played)} cycles; {alike}.")
    if not played[-1].guidance:
        if view.choice().chosen is None and not view.place.off:
            raise IllegalMove(view.choice().why, hint=sync.way_on(view))
        raise IllegalMove(
            decided.get("SessionStart", "nothing was restored"),
            hint="`holdfast why` explains what was found.",
        )


def _copy_logs(view: ProjectView, claims: Iterable[sessions.Session], target: str) -> None:
    """Have those who play in *target* see what was observed and counted until now."""
    if not view.state_dir or not view.place.user_folder:
        return
    logs = [compactions.log_of(view.place.user_folder, kind) for kind in compactions.KINDS]
    logs += [sessionlog.path_of(view.state_dir, claim.id) for claim in claims]
    for path in (found for log in logs for found in (log, f"{log}.1") if os.path.isfile(found)):
        copy = os.path.join(target, os.path.relpath(path, view.state_dir))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)


_SHOWN = 400  # units of a part of the reading


def _tell(played: Cycle, noted: str = "") -> None:
    """Print each hook's answer, and what PostCompact *noted*."""
    told = {
        "PreCompact tells the summariser": played.note,
        "SessionStart(compact) tells the model": played.guidance,
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
    if noted and played.guidance:
        made_up = ", with a summary made up from PreCompact's note" if played.note else ""
        _heading(f"PostCompact notes{made_up}")
        say(noted)
    if played.message:  # last, where it is seen
        _heading("SessionStart(compact) tells the person")
        terminal.line(played.message)


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
    """Show one whole compaction cycle in a throw-away project; your files are not touched."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        _play(Project(Path(folder, "project"), Path(folder, "home"), MovableClock()))


def _play(project: Project) -> None:
    project.write("CLAUDE/Plan/001-user-auth/PLAN.md", _PLAN)
    project.write("docs/auth-guide.md", "# Auth guide\n\nSession cookies are HttpOnly.\n")

    def step(title: str) -> None:
        click.secho(f"\n== {title}", bold=True)

    def agent(*arguments: str) -> None:
        say(f"$ holdfast {shlex.join(arguments)}")
        say(project.run(*arguments, session="demo").stdout.rstrip())

    step("1. A plan declares a workflow: CLAUDE/Plan/001-user-auth/PLAN.md")
    say(_PLAN.rstrip())
    step("2. The agent notes what must not be forgotten")
    agent("remind", "Tokens expire after 15 minutes")
    agent("context", "branch_policy=squash", "attempt=2")
    step("3. The conversation is compacted: PreCompact, SessionStart(compact), PostCompact")
    _tell(Compactions(project)(session="demo", in_process=False))
    agent("status")
    step("4. What was saved")
    for path in project.state_files():
        agent("inspect", str(path.relative_to(project.root)))
    agent("show")
    step("5. The work goes on, and ends")
    agent("phase", "next", "--tick")
    agent("phase", "set", "3", "--status", "completed")
    agent("complete")
