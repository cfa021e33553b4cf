"""Where Holdfast is registered: settings files and plugins, and which of them run every hook twice.

The client runs equal commands of all settings once, and a plugin's hooks always in addition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast import clientsettings, registration
from holdfast.clientsettings import ClientSettings, Scope
from holdfast.registration import PLUGIN, Hook
from holdfast.settings import RESTORE

_TRIGGERS = ("manual", "auto")
# What a hook without a matcher is there for, where the client has a list of it.
_ALL = {"SessionStart": tuple(RESTORE), "PreCompact": _TRIGGERS, "PostCompact": _TRIGGERS}
_ANY = "anything"


class Source(NamedTuple):
    """A settings file that registers us, or a plugin of ours that is enabled in it."""

    scope: Scope
    path: str
    hooks: tuple[Hook, ...]
    plugin: str = ""

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
            return f"claude plugin uninstall {self.plugin} --scope {self.scope}"
        return f"holdfast uninstall --scope {self.scope}"


def found(looked: Mapping[Scope, ClientSettings]) -> list[Source]:
    """All that register us. One file that counts in two scopes is one source."""
    sources: dict[str, Source] = {}
    for scope, each in looked.items():
        ours = tuple(registration.registered(each.value.get("hooks")))
        if ours:
            sources.setdefault(each.path, Source(scope, each.path, ours))
    names = clientsettings.plugins(*(each.value for each in looked.values()))
    return [*sources.values(), *(of_plugin(name, looked) for name in names)]


def of_plugin(name: str, looked: Mapping[Scope, ClientSettings]) -> Source:
    """The plugin *name*, in the last of the scopes that enable it."""
    scopes = [scope for scope, each in looked.items() if name in clientsettings.plugins(each.value)]
    whole = tuple(registration.registered(registration.hooks(PLUGIN)))
    return Source(scopes[-1], looked[scopes[-1]].path, whole, name)


def run_twice(one: Source, other: Source) -> bool:
    """Whether some hook of the two runs twice."""
    apart = bool(one.plugin or other.plugin)
    return any(
        fire_together(hook, each) and (apart or not hook.is_run_with(each))
        for hook in one.hooks
        for each in other.hooks
    )


def doubled(source: Source) -> set[str]:
    """The events for which *source* alone runs a hook more than once."""
    return {
        hook.event
        for hook in source.hooks
        for other in source.hooks
        if fire_together(hook, other) and not hook.is_run_with(other)
    }


def fire_together(one: Hook, other: Hook) -> bool:
    """Whether something sets both off, to do the same."""
    return one.slot == other.slot and any(
        _fires(one, token) and _fires(other, token) for token in (*_tokens(one), *_tokens(other))
    )


def lacking(hooks: Sequence[Hook], parts: int) -> list[str]:
    """What should be registered and is not, one phrase each."""
    missing: dict[str, None] = {}
    gone: list[int] = []
    for want in registration.registered(registration.hooks(parts=parts)):
        same = [each for each in hooks if each.slot == want.slot]
        if not same and want.arguments:
            gone.append(int(want.arguments[-1]))
        elif not same:
            missing[f"{want.event} is not registered"] = None
        else:
            missing |= dict.fromkeys(_uncovered(want, same))
    if gone:
        numbers = f"part {gone[0]}" if len(gone) == 1 else f"parts {gone[0]} to {gone[-1]}"
        missing[f"{numbers} of {parts} of the reading not registered"] = None
    return list(missing)


def _uncovered(want: Hook, same: Sequence[Hook]) -> Iterator[str]:
    what = " ".join([want.event, *want.arguments])
    out = [token for token in _tokens(want) if not any(_fires(each, token) for each in same)]
    if out:
        matchers = " and ".join(repr(each.matcher) for each in same)
        yield f"{what}: the matcher {matchers} leaves out {', '.join(out)}"
        return
    heard = [each for each in same if not each.beside]
    if not want.beside and not all(
        any(_fires(each, token) for each in heard) for token in _tokens(want)
    ):
        yield f"{what} is async, so what it answers comes too late"


def _tokens(hook: Hook) -> Sequence[str]:
    """What *hook* fires for."""
    return hook.matcher.split("|") if hook.matcher else _ALL.get(hook.event, (_ANY,))


def _fires(hook: Hook, token: str) -> bool:
    if not hook.matcher:
        return True
    try:
        return re.fullmatch(hook.matcher, token) is not None
    except re.error:
        return token in hook.matcher.split("|")
