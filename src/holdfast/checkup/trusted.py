"""Whether Codex was told to run our hooks, as far as its own notes say. It alone may write there.

It runs none that the person has not trusted in `/hooks`, and says nothing of it. What it trusts is
one hook by its place in the file and a hash of it. The hash is Codex's own affair, so that a hook
which was changed since it was trusted is not told from one that was not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from holdfast import clientsettings, registration
from holdfast.checkup.finding import Finding
from holdfast.clients import Client, Scope
from holdfast.clientsettings import ClientSettings
from holdfast.plaintext import counted

_NOTES = "config.toml"


def examine(
    client: Client, folder: str | None, looked: Mapping[Scope, ClientSettings]
) -> Iterator[Finding]:
    """What is noted of the hooks of ours in the files of *client*."""
    if not client.trust or folder is None:
        return
    notes = os.path.join(folder, _NOTES)
    states = clientsettings.mapping(
        clientsettings.mapping(clientsettings.toml(notes).get("hooks")).get("state")
    )
    ours = [key for each in looked.values() for key in _keys(each)]
    noted = [clientsettings.mapping(states.get(key)) for key in ours]
    untold = sum("trusted_hash" not in each for each in noted)
    off = sum(each.get("enabled") is False for each in noted)
    if not ours:
        return
    if untold:
        what = f"{client.title} was not told to trust {_of(untold, ours)}"
        cause = f"nothing in {notes} says so"
        yield Finding("trust", "wrong", what, cause, client.trust)
    elif off:
        what = f"{_of(off, ours)} switched off in {client.title}"
        yield Finding("trust", "wrong", what, f"{notes} says so", "switch them on in /hooks")
    else:
        what = f"{client.title} was told to trust {counted(len(ours), 'hook')}"
        yield Finding(
            "trust", "good", f"{what}; one that has changed since has to be trusted again"
        )


def _of(count: int, ours: list[str]) -> str:
    return f"{count} of {counted(len(ours), 'hook')}"


def _keys(file: ClientSettings) -> Iterator[str]:
    """Under what each hook of ours is noted: `FILE:session_start:0:0`."""
    hooks = clientsettings.mapping(file.value.get("hooks"))
    for event, groups in hooks.items():
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            entries = clientsettings.mapping(group).get("hooks")
            for place, entry in enumerate(entries if isinstance(entries, list) else ()):
                if registration.ours(entry):
                    yield f"{file.path}:{name}:{number}:{place}"
