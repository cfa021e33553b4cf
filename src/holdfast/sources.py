"""Where Holdfast is registered: settings files and plugins, and which of them run every hook twice.

A client runs equal commands of all settings once, and a plugin's hooks always in addition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast import clientsettings, registration
from holdfast.clients import CLAUDE, Client, Scope
from holdfast.clientsettings import ClientSettings
from holdfast.registration import PLUGIN, Hook

_ANY = "anything"


class Source(NamedTuple):
    """A settings file that registers us, or a plugin of ours that is enabled in it."""

    scope: Scope
    path: str
    hooks: tuple[Hook, ...]
    plugin: str = ""
    client: Client = CLAUDE

    @property
    def name(self) -> str:
        """What people call it."""
        if self.plugin:
            return f"the plugin {self.plugin}"
        return f"the {self.scope} settings, {self.path}"

    @property
    def removal(self) -> str:
        """The command that takes it out."""
        if self.plugin:
            return self.client.plugin_removal.format(plugin=self.plugin, scope=self.scope)
        return self.client.command("uninstall", self.scope)


def found(
    looked: Mapping[Scope, ClientSettings], client: Client = CLAUDE, folder: str | None = None
) -> list[Source]:
    """All that register us. One file that counts in two scopes is one source."""
    sources: dict[str, Source] = {}
    for scope, each in looked.items():
        ours = tuple(registration.registered(each.value.get("hooks"), client))
        if ours:
            sources.setdefault(each.path, Source(scope, each.path, ours, client=client))
    return [*sources.values(), *plugins(looked, client, folder)]


def plugins(
    looked: Mapping[Scope, ClientSettings], client: Client, folder: str | None
) -> list[Source]:
    """Our plugin, under each name under which it is enabled."""
    if client is CLAUDE:
        names = clientsettings.plugins(*(each.value for each in looked.values()))
        return [of_plugin(name, looked) for name in names]
    names = clientsettings.plugins_of(client, folder)
    return [Source("user", folder or "", _OF_PLUGIN, name, client) for name in names]


# Whoever runs it: the plugin is one and the same.
_OF_PLUGIN = tuple(registration.registered(registration.hooks(PLUGIN)))


def of_plugin(name: str, looked: Mapping[Scope, ClientSettings]) -> Source:
    """Claude Code's plugin *name*, in the last of the scopes that enable it."""
    scopes = [scope for scope, each in looked.items() if name in clientsettings.plugins(each.value)]
    return Source(scopes[-1], looked[scopes[-1]].path, _OF_PLUGIN, name)


def run_twice(one: Source, other: Source) -> bool:
    """Whether some hook of the two runs twice."""
    apart = bool(one.plugin or other.plugin)
    return any(
        fire_together(hook, each, one.client) and (apart or not hook.is_run_with(each))
        for hook in one.hooks
        for each in other.hooks
    )


def doubled(source: Source) -> set[str]:
    """The events for which *source* alone runs a hook more than once."""
    return {
        hook.event
        for hook in source.hooks
        for other in source.hooks
        if fire_together(hook, other, source.client) and not hook.is_run_with(other)
    }


def fire_together(one: Hook, other: Hook, client: Client = CLAUDE) -> bool:
    """Whether something sets both off, to do the same."""
    tokens = (*_tokens(one, client), *_tokens(other, client))
    return one.slot == other.slot and any(
        _fires(one, token, client) and _fires(other, token, client) for token in tokens
    )


def lacking(hooks: Sequence[Hook], parts: int, client: Client = CLAUDE) -> list[str]:
    """What should be registered and is not, one phrase each."""
    missing: dict[str, None] = {}
    gone: list[int] = []
    for want in registration.registered(registration.hooks(parts=parts, client=client), client):
        same = [each for each in hooks if each.slot == want.slot]
        if not same and want.part:
            gone.append(want.part)
        elif not same:
            missing[f"{want.event} is not registered"] = None
        else:
            missing |= dict.fromkeys(_uncovered(want, same, client))
    if gone:
        numbers = f"part {gone[0]}" if len(gone) == 1 else f"parts {gone[0]} to {gone[-1]}"
        missing[f"{numbers} of {parts} of the reading not registered"] = None
    return list(missing)


def _uncovered(want: Hook, same: Sequence[Hook], client: Client) -> Iterator[str]:
    what = f"{want.event} --part {want.part}" if want.part else want.event
    faults = [each.fault for each in same]
    if all(faults):
        yield f"{what}: {faults[0]}"
        return
    same = [each for each in same if not each.fault]
    tokens = _tokens(want, client)
    out = [token for token in tokens if not any(_fires(each, token, client) for each in same)]
    if out:
        matchers = " and ".join(repr(each.matcher) for each in same)
        yield f"{what}: the matcher {matchers} leaves out {', '.join(out)}"
        return
    heard = [each for each in same if not each.beside]
    if not want.beside and not all(
        any(_fires(each, token, client) for each in heard) for token in tokens
    ):
        yield f"{what} is async, so what it answers comes too late"


def _tokens(hook: Hook, client: Client) -> Sequence[str]:
    """What *hook* fires for."""
    there = client.fires_for.get(hook.event)
    if not hook.matcher:
        return there or (_ANY,)
    return [each for each in hook.matcher.split("|") if there is None or each in there]


def _fires(hook: Hook, token: str, client: Client) -> bool:
    if not hook.matcher:
        return True
    if client.exact_matchers:
        return hook.matcher == token
    try:
        return re.fullmatch(hook.matcher, token) is not None
    except re.error:
        return token in hook.matcher.split("|")
