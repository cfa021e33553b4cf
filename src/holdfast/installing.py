"""Put our hooks into a settings file and take them out again, and touch nothing else in it.

Rules: an event whose hooks of ours are as they should be is left alone, whatever a person changed
in them besides (a timeout). In any other, ours are put in anew and the old ones taken out. What
was emptied by that goes with them: the group, the event, "hooks" itself.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from holdfast import backups, clientsettings, jsontext, registration
from holdfast.atomic import replace_file
from holdfast.backups import Backup
from holdfast.clients import CLAUDE, Client
from holdfast.clientsettings import ClientSettings
from holdfast.errors import HoldfastError, StateUnwritable
from holdfast.registration import Hook, Program

HOOKS = "hooks"
_FRESH = "{}\n"
_MODE = 0o644  # as the client makes its settings


class Change(NamedTuple):
    """What is to become of a settings file. *after* None: it is removed again."""

    before: ClientSettings
    after: bytes | None
    not_restored: str = ""  # why *after* is not, byte for byte, what was there before us

    @property
    def target(self) -> str:
        """Where links lead, such as into a folder of dotfiles."""
        return os.path.realpath(self.before.path)

    @property
    def ours(self) -> list[Hook]:
        """Our hooks in the file as it will be."""
        if self.after is None:
            return []
        client = self.before.client
        return ours_in(clientsettings.value_of(self.after, client), client)

    @property
    def is_none(self) -> bool:
        return self.before.exists and self.after == self.before.raw


def putting_in(file: ClientSettings, wanted: Mapping[str, Any]) -> Change:
    """With exactly the hooks of *wanted* as ours."""
    if file.client.is_bridge:
        program = next(registration.registered(wanted, file.client)).program
        return Change(file, registration.text(program, client=file.client).encode())
    text = file.text if file.exists else _FRESH
    return Change(file, with_ours(text, wanted, file.client).encode())


def taking_out(file: ClientSettings, backup: Backup | None) -> Change:
    """As it was before us where it is still what we wrote; else without our hooks alone."""
    if file.client.is_bridge:  # it is ours as a whole
        return Change(file, None)
    if backup is None:
        why = "no backup of it is known"
    elif not backup.is_followed_by(file.raw):
        why = "it was changed since they were put in"
    elif not backup.existed:
        return Change(file, None)
    elif backup.content is None:
        why = "its backup is lost or damaged"
    elif ours_in(clientsettings.parsed(backup.content), file.client):
        why = "there were hooks of Holdfast in it before"
    else:
        return Change(file, backup.content)
    return Change(file, without_ours(file.text, file.client).encode(), why)


def ours_in(value: Mapping[str, Any], client: Client = CLAUDE) -> list[Hook]:
    """Our hooks in settings with this value."""
    return list(registration.registered(value.get(HOOKS), client))


def unfit(value: Mapping[str, Any], client: Client = CLAUDE) -> str:
    """Why hooks cannot be put into settings with this value, though they are plain JSON."""
    unknown = [] if client.beside_hooks is None else value.keys() - {HOOKS} - client.beside_hooks
    if unknown:
        return f'{client.title} refuses the whole file for its "{min(unknown)}"'
    hooks = value.get(HOOKS, {})
    if not isinstance(hooks, dict):
        return '"hooks" is not an object'
    wrong = [event for event, groups in hooks.items() if not isinstance(groups, list)]
    return f'"{wrong[0]}" in "hooks" is not a list' if wrong else ""


def faults(
    value: Mapping[str, Any], wanted: Mapping[str, Any], client: Client = CLAUDE
) -> list[str]:
    """What is wrong with our hooks in settings that have some, one line each, for people."""
    now, due = ours_in(value, client), list(registration.registered(wanted, client))
    programs = {each.program for each in due}
    found = [
        f"started as `{_line(each)}`, not as `{_line(due[0].program)}`"
        for each in dict.fromkeys(hook.program for hook in now if not hook.by_server)
        if each not in programs
    ]
    found += dict.fromkeys(f"{hook.event}: {hook.fault}" for hook in now if hook.fault)
    for event in dict.fromkeys(hook.event for hook in (*due, *now)):
        have, need = (
            Counter(_wherever(hook, client) for hook in hooks if hook.event == event)
            for hooks in (now, due)
        )
        missing, more = need - have, have - need
        twice = sum(count for hook, count in more.items() if hook in need)
        other = more.total() - twice
        if missing:
            found.append(f"{event}: {missing.total()} of {need.total()} are missing")
        if twice:
            found.append(f"{event}: {twice} more than once")
        if other:
            found.append(f"{event}: {other} not as they should be")
    return found if now else []


def _wherever(hook: Hook, client: Client) -> Hook:
    """*hook* without what is told by itself: the program that it starts, and its fault."""
    hook = hook._replace(program=registration.ON_PATH, fault="")
    return hook if client.in_words else hook._replace(line="")


def _line(program: Program) -> str:
    return " ".join([program.command, *program.first, "hook"])


def with_ours(text: str, wanted: Mapping[str, Any], client: Client = CLAUDE) -> str:
    """The settings in *text* with exactly the hooks of *wanted* as ours."""
    hooks = _value(text).get(HOOKS, {})
    now, due = _by_event(hooks, client), _by_event(wanted, client)
    for event in dict.fromkeys([*due, *now]):
        if now.get(event) == due.get(event):
            continue
        # First in, then out: so that neither the event nor "hooks" loses its place.
        text = _put_in(text, event, wanted.get(event, []))
        text = _taken_out(text, event, len(hooks.get(event, [])))
    return text


def without_ours(text: str, client: Client = CLAUDE) -> str:
    """The settings in *text* without any hook of ours."""
    for event in _by_event(_value(text).get(HOOKS), client):
        text = _taken_out(text, event)
    return text


def _by_event(hooks: object, client: Client) -> dict[str, Counter[Hook]]:
    found: dict[str, Counter[Hook]] = {}
    for hook in registration.registered(hooks, client):
        found.setdefault(hook.event, Counter())[hook] += 1
    return found


def _put_in(text: str, event: str, groups: Sequence[Any]) -> str:
    value = _value(text)
    if HOOKS not in value:
        return jsontext.added(text, (), {event: groups}, HOOKS)
    if event not in value[HOOKS]:
        return jsontext.added(text, (HOOKS,), groups, event)
    for group in groups:
        text = jsontext.added(text, (HOOKS, event), group)
    return text


def _taken_out(text: str, event: str, first: int | None = None) -> str:
    """*text* without our hooks in the *first* groups of *event*, or in all of them."""
    groups = _value(text)[HOOKS].get(event, [])[:first]
    for number, group in reversed(list(enumerate(groups))):
        entries = group.get("hooks") if isinstance(group, dict) else None
        entries = entries if isinstance(entries, list) else []
        ours = [index for index, each in enumerate(entries) if registration.ours(each)]
        whole = bool(ours) and len(ours) == len(entries)
        for index in reversed([] if whole else ours):
            text = jsontext.removed(text, (HOOKS, event, number, "hooks", index))
        if whole:
            text = _removed_with_what_it_empties(text, (HOOKS, event, number))
    return text


def _removed_with_what_it_empties(text: str, path: Sequence[str | int]) -> str:
    container = jsontext.find(text, path[:-1])
    if len(path) > 1 and len(jsontext.children(text, container)) == 1:
        return _removed_with_what_it_empties(text, path[:-1])
    return jsontext.removed(text, path)


def _value(text: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(text.removeprefix("\ufeff"))
    return value


def install(change: Change, state_dir: str | None) -> str | None:
    """Carry it out, with a backup before; its path, where there was anything to be kept."""
    before, after = change.before, change.after or b""
    copy = backups.keep(state_dir, change.target, before.raw if before.exists else None, after)
    _carry_out(change)
    return copy


def uninstall(change: Change, backup: Backup | None, state_dir: str | None) -> None:
    """Carry it out. A backup has then served its turn, and is removed."""
    _carry_out(change)
    if change.after is None and backup:
        folder = change.target
        with contextlib.suppress(OSError):  # somebody else has put something there
            for _ in range(backup.made_folders):
                folder = os.path.dirname(folder)
                os.rmdir(folder)
    backups.forget(state_dir, change.target)


def _carry_out(change: Change) -> None:
    before, target = change.before, change.target
    try:
        if change.after is None:
            _refuse_if_changed(before)
            os.unlink(target)
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = os.stat(target).st_mode & 0o7777 if before.exists else _MODE
        _refuse_if_changed(before)
        replace_file(target, change.after, mode=mode)
    except OSError as error:
        raise StateUnwritable(before.path, error.strerror or str(error)) from error


def _refuse_if_changed(before: ClientSettings) -> None:
    now = clientsettings.read(before.path, before.client)
    if (now.exists, now.raw) != (before.exists, before.raw):
        raise HoldfastError(
            f"{before.path} was changed by somebody else at this moment",
            hint="Nothing was written there. Give the command again.",
        )
    if now.exists and not os.access(before.path, os.W_OK):
        raise HoldfastError(
            f"{before.path} may not be written", hint="Nothing was changed. See its permissions."
        )
