"""Whether Codex was told to run our hooks, as far as its own notes say. It alone may write there.

It runs none that the person has not trusted in `/hooks`, and says nothing of it. What it trusts is
one hook by its place in the file and a hash of it. The hash is Codex's own affair, so that a hook
which was changed since it was trusted is not told from one that was not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from holdfast import clientsettings, registration
from holdfast.checkup.finding import Finding
from holdfast.clients import Client
from holdfast.clientsettings import mapping
from holdfast.plaintext import counted
from holdfast.registration import PLUGIN
from holdfast.sources import Source

_NOTES = "config.toml"
_IN_PLUGIN = "hooks/hooks.json"


def examine(client: Client, folder: str | None, found: Sequence[Source]) -> Iterator[Finding]:
    """What is noted of the hooks of ours in each of *found*."""
    if not client.trust or folder is None:
        return
    notes = os.path.join(folder, _NOTES)
    states = mapping(mapping(clientsettings.toml(notes).get("hooks")).get("state"))
    for source in found:
        places = list(_places(source))
        noted = [
            next(
                (
                    mapping(states[file + place])
                    for file in _files(source)
                    if file + place in states
                ),
                {},
            )
            for place in places
        ]
        untold = sum("trusted_hash" not in each for each in noted)
        off = sum(each.get("enabled") is False for each in noted)
        hooks = f"{counted(len(places), 'hook')} of {source.name}"
        if untold:
            what = f"{client.title} was not told to trust {untold} of {hooks}"
            yield Finding("trust", "wrong", what, f"nothing in {notes} says so", client.trust)
        elif off:
            what = f"{off} of {hooks} switched off in {client.title}"
            yield Finding("trust", "wrong", what, f"{notes} says so", "switch them on in /hooks")
        else:
            what = f"{client.title} was told to trust {hooks}"
            cause = "one that has changed since has to be trusted again"
            yield Finding("trust", "good", what, cause)


def _files(source: Source) -> tuple[str, ...]:
    """What it may call the file that *source* stands in."""
    if source.plugin:
        return (f"{source.plugin}:{_IN_PLUGIN}",)
    return source.path, os.path.realpath(source.path)


def _places(source: Source) -> Iterator[str]:
    """Where each of our hooks stands in the file, as it says it: `:session_start:0:0`."""
    value = clientsettings.read(source.path).value.get("hooks")
    hooks = registration.hooks(PLUGIN) if source.plugin else mapping(value)
    events = [row.event for row in source.client.rows]
    events += source.client.plugin_events if source.plugin else ()
    for event in dict.fromkeys(events):
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
        groups = hooks.get(event)
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            entries = mapping(group).get("hooks")
            for place, entry in enumerate(entries if isinstance(entries, list) else ()):
                if registration.ours(entry):
                    yield f":{name}:{number}:{place}"
