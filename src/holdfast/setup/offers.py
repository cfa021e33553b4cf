"""What can be set up for Claude Code: what of it is there already, what is missing, and what that would write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from holdfast.agents.clients import Client, Scope
from holdfast.config import settings
from holdfast.config.project import Surroundings
from holdfast.errors import StateUnreadable
from holdfast.files.regular import contains
from holdfast.setup import clientsettings, extras, installing, registration, skill
from holdfast.setup.clientsettings import ClientSettings, Scopes
from holdfast.setup.doctor import registered
from holdfast.setup.installing import Change, Edit
from holdfast.setup.plugin import marker
from holdfast.setup.registration import ON_PATH, Program
from holdfast.text.plaintext import counted

NAMES = ("hooks", "permission", "statusline", "skill", "follow")
State: TypeAlias = Literal["done", "open", "not possible", "wrong"]


class Registration(NamedTuple):
    """The hooks that are to be registered in a settings file."""

    scopes: Scopes
    scope: Scope
    file: ClientSettings
    program: Program
    wanted: Mapping[str, Any]
    problems: tuple[str, ...]  # why the hooks may do nothing, whatever else the settings say

    def change(self, *edits: Edit) -> Change:
        return installing.putting_in(self.file, self.wanted, edits)

    def warnings(self, change: Change) -> list[str]:
        """What stops the hooks from working after *change*."""
        findings = registered.examine_scopes(self.scopes.after(change.result))
        return [*self.problems, *(finding.line for finding in findings)]


def registration_for(
    here: Surroundings, client: Client, scope: Scope, *, by_server: bool = False
) -> Registration:
    """What `install` registers for *client* in the settings of *scope*."""
    scopes = clientsettings.look(here, client)
    program = ON_PATH if scope == "project" else registration.whole_path()
    loaded = settings.load(None, here.config_file)
    problems = loaded.problems
    if program == ON_PATH and not registration.find_on_path(
        program.command, here.search_path, here.virtual_env
    ):
        problems += ("`holdfast` is not on the PATH, and these hooks do nothing until it is",)
    else:
        problems += tuple(finding.line for finding in registered.named_in_vain((), here))
    wanted = registration.hooks(program, loaded.settings.parts, client=client, by_server=by_server)
    return Registration(scopes, scope, scopes.file(scope), program, wanted, problems)


class Offer(NamedTuple):
    """Something that can be set up: by an *edit* of the client's settings, or by *act*."""

    name: str  # one of NAMES
    what: str  # what would be done, or what is there, or why it cannot be done
    path: str  # what it writes; "" for nothing
    state: State = "open"
    edit: Edit | None = None
    act: Callable[[], str] | None = None  # says what was done

    def but(self, state: State, what: str) -> Offer:
        return self._replace(state=state, what=what)


def offered(setup: Registration) -> Iterator[Offer]:
    """All but the plans to follow."""
    plugin = next((source for source in setup.scopes.sources() if source.plugin), None)
    has_plugin = plugin is not None or marker.is_ours(sys.prefix)
    if has_plugin:
        market = plugin.plugin.partition("@")[2] if plugin else ""
        yield Offer("hooks", "the plugin registers them", setup.file.path, "done")
        yield _permission(setup)
        yield _status_line(setup, _of_marketplace(setup.scopes, market))
        yield Offer("skill", "the plugin brings it", "", "done")
    else:
        yield _hooks(setup)
        yield _permission(setup)
        yield _status_line(setup, setup.program)
        yield _skill(setup)


def _of_marketplace(scopes: Scopes, name: str) -> Program | None:
    """The plugin's program. The copy that the client runs has the version in its path; what it was copied from stays."""
    folder = clientsettings.marketplace(scopes.folder, name)
    return Program("/bin/sh", (os.path.join(folder, "bin", "holdfast"),)) if folder else None


def _hooks(setup: Registration) -> Offer:
    file = setup.file
    edit = partial(installing.with_ours, wanted=setup.wanted)
    offer = Offer("hooks", file.problem, file.path, "wrong", edit)
    if file.problem:
        return offer
    change = setup.change()
    if change.is_none:
        return offer.but("done", f"{counted(len(file.hooks), 'hook')} registered")
    what = "the hooks that save and restore workflows"
    return offer.but("open", f"bring {what} up to date" if file.hooks else f"register {what}")


ALLOWED = f'let agents run `holdfast` commands without asking, by the rule "{extras.RULE}"'


def _permission(setup: Registration) -> Offer:
    file = setup.file
    offer = Offer("permission", ALLOWED, file.path, edit=extras.allow)
    if setup.scopes.allows_us:
        return offer.but("done", "agents may run `holdfast` commands without asking")
    problem = file.problem or extras.unfit_for_rule(file.value)
    return offer.but("wrong", problem) if problem else offer


def _status_line(setup: Registration, program: Program | None) -> Offer:
    file = setup.file
    offer = Offer("statusline", "show the workflow in the status line", file.path)
    lines = [extras.status_line(known.value) for known in setup.scopes.files.values()]
    if any(map(extras.is_ours, lines)):
        return offer.but("done", "the status line shows the workflow")
    if any(line is not None for line in lines):
        why = "you have another one; call `holdfast statusline` from its script"
        return offer.but("not possible", why)
    if file.problem:
        return offer.but("wrong", file.problem)
    if setup.scope == "project":
        why = "it is yours alone, so it is not for a project's settings: use --scope user"
        return offer.but("not possible", why)
    if program is None:
        return offer.but("not possible", "the folder of the plugin's marketplace is not known")
    return offer._replace(edit=partial(extras.show, program=program))


def _skill(setup: Registration) -> Offer:
    path = skill.path_for(setup.scopes, setup.scope)
    what = "add the skill that tells agents the commands"
    offer = Offer("skill", what, path, act=partial(_write_skill, path))
    if setup.scope == "project" and not contains(setup.scopes.root, os.path.realpath(path)):
        # A clone may bring such a link, to have what it leads to replaced or copied.
        return offer.but("wrong", "it leads outside the project")
    try:
        now = skill.read(path)
    except StateUnreadable as error:
        return offer.but("wrong", error.reason)
    if now == skill.text():
        return offer.but("done", "agents are told the commands")
    if skill.is_as_written(path):
        return offer.but("open", "bring the skill that tells agents the commands up to date")
    if now is not None:
        return offer.but("open", "replace the skill there by ours, which tells agents the commands")
    return offer


def _write_skill(path: str) -> str:
    aside = skill.write(path)
    return f"Wrote {path}" + (f"; what was there is now {aside}" if aside else "")
