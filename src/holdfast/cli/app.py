"""What every command needs: the project as it is now, and which workflow is meant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click

from holdfast import sync
from holdfast.cli.terminal import can_ask, emit
from holdfast.clients import CLAUDE, CLIENTS
from holdfast.clock import Clock, iso
from holdfast.errors import HoldfastError, IllegalMove, NoSuchWorkflow
from holdfast.formats.base import Workflow
from holdfast.formats.canonical.sources.values import scalar
from holdfast.formats.registry import every, format_of
from holdfast.guidance import for_person
from holdfast.naming import find
from holdfast.plaintext import clean, escaped, one_line
from holdfast.project import AGENT_VARIABLES, Surroundings
from holdfast.store import COMMAND_WAIT
from holdfast.sync import Synced

# What agents tell their shell by which session it belongs to.
_SESSION_VARIABLES = ", ".join(each.session for each in AGENT_VARIABLES.values() if each.session)


class Failed(click.ClickException):
    """A cause and a next step on stderr, and the exit code of the error."""

    def __init__(self, error: HoldfastError) -> None:
        super().__init__(error.cause)
        self.exit_code = error.exit_code  # type: ignore[misc]  # click reads it of the instance
        self.hint = error.hint

    def show(self, file: Any = None) -> None:  # noqa: ARG002  # click's signature
        say_aside(self.message)
        if self.hint:
            click.echo(f"  {clean(self.hint)}", err=True)


class App:
    """Made once a command."""

    def __init__(self, surroundings: Surroundings, clock: Clock) -> None:
        self.surroundings = surroundings
        self.clock = clock

    def look(self, *, stay: bool = True, warn: bool = True, thorough: bool = False) -> Synced:
        """The project as it is now, without writing anything.

        With *stay* false it is the one around the current directory, wherever the session was.
        With *warn*, somebody is told where everything is switched off. *thorough* as for `sync.run`.
        """
        synced = self._run(None, stay=stay, thorough=thorough)
        off = self.switched_off(synced) if warn else None
        if off:
            say_aside(f"switched off, because {off}")
        return synced

    def change(self, *, save: bool = True, stay: bool = True) -> Synced:
        """The same for a command that will write. With *save*, what is due is saved first."""
        # Switched off, nothing may be written; so that is found out by looking only.
        synced = self._run(None, stay=stay)
        off = self.switched_off(synced)
        if off:
            raise IllegalMove(f"Holdfast is switched off, because {off}")
        if save:
            synced = self._run(COMMAND_WAIT, stay=stay)
        else:
            # The command may change which workflow or phase it is that the session works on.
            synced.observe(synced.choice().chosen, COMMAND_WAIT)
        if synced.failure:
            raise synced.failure
        return synced

    def switched_off(self, synced: Synced) -> str | None:
        if self.surroundings.disabled:
            return "HOLDFAST_DISABLE is set"
        if synced.place.settings.enabled:
            return None
        return "enabled = false stands in .claude/holdfast.toml or in your own holdfast.toml"

    def _run(self, wait: float | None, *, stay: bool, thorough: bool = False) -> Synced:
        here, command = self.surroundings, click.get_current_context().command_path
        return sync.run(
            here.cwd,
            here.session,
            here,
            self.clock,
            wait=wait,
            saver=command,
            stay=stay,
            thorough=thorough,
        )

    def this_session(self, purpose: str) -> str:
        """The session that the command was called from; *purpose* is what cannot be done without."""
        if not self.surroundings.session:
            raise IllegalMove(
                f"no session is known here, so there is nothing to {purpose}",
                hint=f"Run this in an agent's shell that has one of these variables: {_SESSION_VARIABLES}.",
            )
        return self.surroundings.session

    def meant(self, synced: Synced, name: str | None, of: str = "") -> Workflow:
        """The workflow called *name*, else the one that this session gets; with *of*, of that format."""
        among = [each for each in synced.workflows if of in {"", each.format}]
        if name:
            return find(among, name)
        choice = synced.choice(of)
        finished = _just_finished(synced, among)
        if finished and (choice.chosen is None or _later(finished, choice.chosen, synced)):
            return finished
        if choice.chosen is None:
            raise NoSuchWorkflow(
                f"{choice.why} in {synced.root}",
                hint=f"Begin one with `holdfast {_start(of)}`; `holdfast why` tells what was looked at.",
            )
        return choice.chosen

    def general(self, synced: Synced, name: str | None) -> Workflow:
        """The same, for commands that a format with a group of its own does not have."""
        workflow = self.meant(synced, name)
        group = format_of(workflow).group
        if group:
            raise IllegalMove(
                f"{workflow.name!r} is a {workflow.format} workflow",
                hint=f"It has its own commands: holdfast {group} --help",
            )
        return workflow


def _start(of: str) -> str:
    group = next((each.group for each in every() if each.name == of), "")
    return f"{group} start" if group else "start NAME"


def _just_finished(synced: Synced, among: Sequence[Workflow]) -> Workflow | None:
    """The workflow that is not active any more but still there: this session's, else the last one."""
    kept = [
        each for each in among if each.kept and each.standing != "ignored" and not each.put_away
    ]
    own = [each for each in kept if synced.claim and each.key == synced.claim.workflow]
    last = max(own or kept, key=lambda each: each.changed_at, default=None)
    return last if last and last.standing != "active" else None


def _later(finished: Workflow, chosen: Workflow, synced: Synced) -> bool:
    own = synced.claim is not None and synced.claim.workflow == finished.key
    return finished.standing == "finished" and (own or finished.changed_at > chosen.changed_at)


pass_app = click.make_pass_decorator(App)
agent_option = click.option(
    "--agent",
    type=click.Choice(list(CLIENTS)),
    default=CLAUDE.name,
    help="Which agent it is about; Claude Code unless named.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(text: str = "") -> None:
    """Print for people: without what could steer the terminal."""
    emit(clean(text))


def say_aside(text: str) -> None:
    """Tell a person what is not the answer, on stderr."""
    click.echo(f"holdfast: {clean(text)}", err=True)


def agreed(question: str, *, yes: bool, undone: str, hint: str) -> bool:
    """Whether to go on: with *yes*, or because a person said so; a script is refused with *undone*."""
    if not yes and not can_ask():
        raise IllegalMove(undone, hint=hint)
    if yes or click.confirm(question, default=False):
        return True
    say("It stays as it is.")
    return False


def dump(value: object) -> None:
    """Print JSON as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=iso_times)
    click.echo(escaped(text).encode("utf-8", "replace"))


def pairs(values: Sequence[str]) -> dict[str, Any]:
    """What is given as K=V."""
    found = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise click.BadParameter(f"{value!r} is not of the form key=value")
        found[key.strip()] = scalar(text.strip())
    return found


def read_again(workflows: Iterable[Workflow], key: str) -> Workflow:
    """Workflow *key* among those that were read after it was changed."""
    found = next((each for each in workflows if each.key == key), None)
    if found is None:  # the disk fails, or somebody was quick
        raise HoldfastError(
            "it was changed as you asked, but cannot be read now",
            hint="See where things stand: holdfast list",
        )
    return found


def tell(synced: Synced, workflow: Workflow, verb: str, *details: str) -> None:
    """Say where *workflow* stands now; whoever changed it has taken it up."""
    synced.take(workflow)
    synced.observe(workflow, COMMAND_WAIT)
    say(for_person(workflow.briefing, verb))
    for detail in details:
        say(f"  {one_line(detail)}")


def iso_times(value: object) -> object:
    """JSON for what it does not know: times as everywhere in our files."""
    return iso(value) if isinstance(value, datetime) else str(value)
