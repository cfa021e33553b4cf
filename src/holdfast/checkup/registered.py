"""Which settings register Holdfast: nowhere, incompletely, by a path that is gone, more than once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast import clientsettings, registration
from holdfast.checkup import running
from holdfast.checkup.finding import Finding
from holdfast.clientsettings import ClientSettings, Scope
from holdfast.plaintext import one_line
from holdfast.registration import PLUGIN, Hook, Program
from holdfast.settings import RESTORE

_TRIGGERS = ("manual", "auto")
# What a hook without a matcher is there for, where the client has a list of it.
_ALL = {"SessionStart": tuple(RESTORE), "PreCompact": _TRIGGERS, "PostCompact": _TRIGGERS}
_ANY = "anything"


class Source(NamedTuple):
    """A settings file that registers us, or a plugin of ours that is switched on."""

    name: str
    scope: Scope | None  # None for a plugin
    hooks: tuple[Hook, ...]

    @property
    def repair(self) -> str:
        """The command that brings it to what it should be."""
        return install(self.scope or "user")


def install(scope: Scope) -> str:
    return f"holdfast install --scope {scope}"


def uninstall(source: Source) -> str:
    if source.scope is None:
        return f"claude plugin uninstall {source.name.rpartition(' ')[2]}"
    return f"holdfast uninstall --scope {source.scope}"


def sources(looked: Mapping[Scope, ClientSettings]) -> list[Source]:
    """All that register us."""
    found = []
    for scope, each in looked.items():
        ours = tuple(registration.registered(each.value.get("hooks")))
        if ours:
            found.append(Source(f"the {scope} settings, {each.path}", scope, ours))
    names = clientsettings.plugins(*(each.value for each in looked.values()))
    whole = tuple(registration.registered(registration.hooks(PLUGIN)))
    return found + [Source(f"the plugin {name}", None, whole) for name in names]


def examine(root: str, client_dir: str | None, parts: int) -> Iterator[Finding]:
    """What the settings of the client say of us."""
    looked = clientsettings.read_all(root, client_dir)
    yield from _files(looked)
    found = sources(looked)
    if not found:
        cause = "so nothing is saved or restored by itself"
        yield Finding("hooks", "wrong", "no settings register Holdfast", cause, install("user"))
        yield running.examine(running.THIS, install("user"))
        return
    for source in found:
        what = f"{source.name}: {len(source.hooks)} hooks"
        yield Finding("hooks", "good", what)
    every = [hook for source in found for hook in source.hooks]
    missing = lacking(every, parts)
    if missing:
        fullest = max(found, key=lambda source: len(source.hooks))
        cause = one_line("; ".join(missing), 400)
        yield Finding("hooks", "wrong", "not all is registered", cause, fullest.repair)
    yield from _twice(found)
    yield from _programs(found)


def _files(looked: Mapping[Scope, ClientSettings]) -> Iterator[Finding]:
    for each in looked.values():
        if each.problem:
            what = f"{each.path} is no valid JSON, so Claude Code does not use it"
            yield Finding("hooks", "wrong", what, each.problem, f"edit {each.path}")
        if each.value.get("disableAllHooks") is True:
            what = f"{each.path} switches all hooks off"
            cause = '"disableAllHooks": true stands there'
            yield Finding("hooks", "wrong", what, cause, f"edit {each.path}")


def lacking(found: Iterable[Hook], parts: int) -> list[str]:
    """What should be registered and is not, one phrase each."""
    hooks = list(found)
    missing: list[str] = []
    gone: list[int] = []
    for want in registration.registered(registration.hooks(parts=parts)):
        same = [each for each in hooks if _slot(each) == _slot(want)]
        if not same and want.arguments:
            gone.append(int(want.arguments[-1]))
        elif not same:
            missing.append(f"{want.event} is not registered")
        else:
            missing += _uncovered(want, same)
    if gone:
        numbers = f"part {gone[0]}" if len(gone) == 1 else f"parts {gone[0]} to {gone[-1]}"
        missing.append(f"{numbers} of {parts} of the reading not registered")
    return missing


def _slot(hook: Hook) -> tuple[str, tuple[str, ...]]:
    return hook.event, hook.arguments


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


def _tokens(want: Hook) -> Sequence[str]:
    """What *want* has to fire for."""
    return want.matcher.split("|") if want.matcher else _ALL.get(want.event, (_ANY,))


def _fires(hook: Hook, token: str) -> bool:
    if not hook.matcher:
        return True
    try:
        return re.fullmatch(hook.matcher, token) is not None
    except re.error:
        return token in hook.matcher.split("|")


def _twice(found: Sequence[Source]) -> Iterator[Finding]:
    """The client runs identical commands of settings once; all else that is registered, it runs."""
    for index, source in enumerate(found):
        for other in found[index + 1 :]:
            if _meet(source, other):
                what = f"registered twice: in {source.name}, and in {other.name}"
                cause = "every hook runs twice"
                yield Finding("hooks", "wrong", what, cause, uninstall(source))
        doubled = {hook.event for hook in source.hooks if len(_programs_at(source, hook)) > 1}
        if doubled:
            what = f"{source.name} registers {', '.join(sorted(doubled))} more than once"
            cause = "with different programs, so both run"
            yield Finding("hooks", "wrong", what, cause, source.repair)


def _programs_at(source: Source, hook: Hook) -> set[Program]:
    """What runs where *hook* does."""
    return {each.program for each in source.hooks if _at_once(each, hook)}


def _at_once(one: Hook, other: Hook) -> bool:
    return _slot(one) == _slot(other) and any(
        _fires(one, token) and _fires(other, token) for token in _tokens(other)
    )


def _meet(source: Source, other: Source) -> bool:
    return any(
        _at_once(one, each) and one.program != each.program
        for one in source.hooks
        for each in other.hooks
    )


def _programs(found: Sequence[Source]) -> Iterator[Finding]:
    """Whether what is registered is there, and answers."""
    for source in found:
        # Where a plugin lies is the client's business; who asks here runs the plugin's environment.
        programs = dict.fromkeys(hook.program for hook in source.hooks) if source.scope else ()
        for program in programs or (running.THIS,):
            if running.found_at(program) is None:
                yield _gone(program, source)
            else:
                yield running.examine(program, source.repair)


def _gone(program: Program, source: Source) -> Finding:
    name = program.command
    if re.search(r"[/\\]", name):
        what, cause = f"{name} is not there", f"{source.name} still registers it"
    else:
        what = f"`{name}` is not on the PATH"
        cause = f"{source.name} registers it by this name alone"
    return Finding("command", "wrong", what, cause, source.repair)
