"""Put our hooks and extras into a settings file and take them out again, and touch nothing else in it.

Rules: an event whose hooks of ours are as they should be is left alone, whatever a person changed
in them besides (a timeout). In any other, ours are put in anew and the old ones taken out. What
was emptied by that goes with them: the group, the event, "hooks" itself.

A copy of the file as it was before us lies in the user's folder; a repository would pick it up beside the
settings. Where nothing else has changed since, its bytes are what `uninstall` puts back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from holdfast.agents.clients import CLAUDE, Client
from holdfast.errors import HoldfastError, StateUnreadable
from holdfast.files import jsontext
from holdfast.files.atomic import make_private, replace_file
from holdfast.files.fingerprints import digest
from holdfast.files.regular import read_file
from holdfast.files.store import changing
from holdfast.setup import clientsettings, extras, registration
from holdfast.setup.clientsettings import HOOKS, ClientSettings

_FRESH = "{}\n"
_NO_FILE = b"null\n"  # a copy of no file: what no settings say

_MODE = 0o644  # as the client makes its settings
_LARGEST = 2 * 1024 * 1024

Edit: TypeAlias = Callable[[str], str]  # of the text of a settings file


class Change(NamedTuple):
    """What is to become of a settings file. *after* None: it is removed again."""

    before: ClientSettings
    after: bytes | None
    restores: bool = False  # whether *after* is what was there before us

    @property
    def target(self) -> str:
        """Where links lead, such as into a folder of dotfiles."""
        return os.path.realpath(self.before.path)

    @property
    def result(self) -> ClientSettings:
        """The file as it will be."""
        gone = ClientSettings(self.before.path, self.before.client)
        return gone if self.after is None else self.before.holding(self.after)

    @property
    def is_none(self) -> bool:
        return self.before.exists and self.after == self.before.raw


def putting_in(
    file: ClientSettings, wanted: Mapping[str, Any], edits: Sequence[Edit] = ()
) -> Change:
    """With exactly the hooks of *wanted* as ours, and with what *edits* make of the rest."""
    if file.client.is_bridge:
        return Change(file, registration.text(wanted, file.client).encode())
    return edited(file, [lambda text: with_ours(text, wanted, file.client), *edits])


def edited(file: ClientSettings, edits: Sequence[Edit]) -> Change:
    """With what *edits* make of it, one after the other."""
    text = file.text if file.exists else _FRESH
    for edit in edits:
        text = edit(text)
    return Change(file, text.encode())


def taking_out(file: ClientSettings, state_dir: str | None) -> Change:
    """Without our hooks: the copy where it says the same, and no file where nothing else was in it."""
    if file.client.is_bridge:  # it is ours as a whole
        return Change(file, None)
    without = file.holding(without_ours(file.text).encode())
    try:
        raw = read_file(_copy_of(file, state_dir), _LARGEST)[0] if state_dir else None
    except StateUnreadable:
        raw = None
    if raw in {None, _NO_FILE}:
        return Change(file, without.raw if without.value else None)
    copy = file.holding(raw)
    # What a person had of the extras before us is in the copy, and comes back with it.
    restores = (
        not (copy.problem or copy.hooks)
        and jsontext.value_in(without_ours(copy.text)) == without.value
    )
    return Change(file, copy.raw if restores else without.raw, restores)


def with_ours(text: str, wanted: Mapping[str, Any], client: Client = CLAUDE) -> str:
    """The settings in *text* with exactly the hooks of *wanted* as ours."""
    hooks = jsontext.value_in(text).get(HOOKS, {})
    now, due = registration.registered(hooks, client), registration.registered(wanted, client)
    for event in dict.fromkeys(hook.event for hook in (*due, *now)):
        have, need = (sorted(hook for hook in among if hook.event == event) for among in (now, due))
        if have == need:
            continue
        # First in, then out: so that neither the event nor "hooks" loses its place.
        for group in wanted.get(event, []):
            text = jsontext.put_in(text, (HOOKS, event), group)
        text = _taken_out(text, event, len(hooks.get(event, [])))
    return text


def without_ours(text: str) -> str:
    """The settings in *text* without any hook of ours, and without the extras."""
    hooks = registration.registered(jsontext.value_in(text).get(HOOKS))
    for event in dict.fromkeys(hook.event for hook in hooks):
        text = _taken_out(text, event)
    return extras.remove(text)


def _taken_out(text: str, event: str, first: int | None = None) -> str:
    """*text* without our hooks in the *first* groups of *event*, or in all of them."""
    groups = jsontext.value_in(text)[HOOKS].get(event, [])[:first]
    ours = [(number, place) for number, place, _ in registration.located({event: groups})]
    for number, place in reversed(ours):
        group = (HOOKS, event, number)
        entries = jsontext.find(text, (*group, "hooks"))
        if len(jsontext.children(text, entries)) == 1:
            text = jsontext.pruned(text, group)
        else:
            text = jsontext.removed(text, (*group, "hooks", place))
    return text


def install(change: Change, state_dir: str | None) -> str | None:
    """Carry it out, with a copy before; its path, where there was anything to be kept."""
    if state_dir is None:
        raise HoldfastError(
            "no folder is known for a copy of the settings",
            hint="Nothing was changed. Set HOME or XDG_STATE_HOME.",
        )
    before, copy = change.before, _copy_of(change.before, state_dir)
    had_ours = bool(before.hooks) or extras.are_in(before.value)
    with changing(copy):
        # Else the copy is of what was there before us.
        if not (before.exists and had_ours and os.path.exists(copy)):
            make_private(os.path.dirname(copy))
            replace_file(copy, before.raw if before.exists else _NO_FILE, mode=0o600)
    _carry_out(change)
    return copy if before.exists else None


def uninstall(change: Change, state_dir: str | None) -> None:
    """Carry it out. The copy has then served its turn, and is removed, as is a folder that is empty now."""
    _carry_out(change)
    with contextlib.suppress(OSError):
        if state_dir:
            os.unlink(_copy_of(change.before, state_dir))
    with contextlib.suppress(OSError):
        if change.after is None:
            os.rmdir(os.path.dirname(change.target))


def _copy_of(file: ClientSettings, state_dir: str) -> str:
    """Where the copy of *file* lies; named for people, and by a hash of where the settings lie."""
    settings = os.path.realpath(file.path)
    place = digest(os.fsencode(settings))[:12]
    name, ending = os.path.splitext(os.path.basename(settings))
    return os.path.join(state_dir, "backups", f"{name}-{place}{ending}")


def _carry_out(change: Change) -> None:
    before, target = change.before, change.target
    with changing(before.path):
        if change.after is None:
            _refuse_if_changed(before)
            os.unlink(target)
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = os.stat(target).st_mode & 0o7777 if before.exists else _MODE
        _refuse_if_changed(before)
        replace_file(target, change.after, mode=mode)


def _refuse_if_changed(before: ClientSettings) -> None:
    now = clientsettings.read(before.path, before.client)
    if (now.exists, now.raw) != (before.exists, before.raw):
        cause = f"{before.path} was changed by another process just now"
        raise HoldfastError(cause, hint="Nothing was written there. Run the command again.")
    if now.exists and not os.access(before.path, os.W_OK):
        cause = f"{before.path} is read-only"
        raise HoldfastError(cause, hint="Nothing was changed. Check its permissions.")
