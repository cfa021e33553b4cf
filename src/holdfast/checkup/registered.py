"""Which settings register Holdfast: nowhere, incompletely, by a path that is gone, more than once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from holdfast import clientsettings, installing, launcher, sources
from holdfast.bootstrap import marker
from holdfast.checkup import running, trusted
from holdfast.checkup.finding import Finding
from holdfast.clients import CLAUDE, Client, Scope
from holdfast.clientsettings import ClientSettings
from holdfast.plaintext import counted, one_line
from holdfast.project import Surroundings
from holdfast.registration import NAME, ON_PATH, Hook, adding
from holdfast.settings import Settings, load
from holdfast.sources import Source

_RELOAD = "claude plugin enable holdfast@holdfast"  # what is run here is the plugin's own


def examine(here: Surroundings, client: Client = CLAUDE) -> Iterator[Finding]:
    """What the settings of *client* say of us."""
    root, folder = clientsettings.root(here), here.agent_dirs.get(client.name)
    looked = clientsettings.read_all(root, folder, client)
    yield from _files(looked, client)
    found = sources.found(looked, client, folder)
    if not found:
        if client.with_comments and any(each.problem for each in looked.values()):
            return  # what is registered is not known
        what = f"no settings register Holdfast{'' if client is CLAUDE else f' with {client.title}'}"
        cause = "so nothing is saved or restored by itself"
        of_plugin = client is CLAUDE and marker.is_ours(sys.prefix)
        fix = _RELOAD if of_plugin else client.command("install", "user")
        yield Finding("hooks", "wrong", what, cause, fix)
        yield running.examine(launcher.THIS, launcher.THIS.command, fix, client)
        return
    for source in found:
        yield Finding("hooks", "good", f"{source.name}: {counted(len(source.hooks), 'hook')}")
    yield from _missing(found, load(None, here.config_file).settings.parts, client)
    yield from _twice(found)
    yield from _programs(found, here)
    yield from trusted.examine(client, folder, found)
    if client is CLAUDE:
        yield from _server(found, clientsettings.servers(root, here))


def _files(looked: Mapping[Scope, ClientSettings], client: Client) -> Iterator[Finding]:
    for each in looked.values():
        if each.problem and client.with_comments:
            what = f"{each.path} is no plain JSON, so what it registers is not known"
            yield Finding("hooks", "note", what, each.problem, f"edit {each.path}")
        elif each.problem and client.is_bridge:
            what = f"{each.path} is in the place of the plugin"
            yield Finding("hooks", "wrong", what, each.problem, f"move {each.path} away")
        elif each.problem:
            what = f"{each.path} is no valid JSON, so {client.title} does not use it"
            yield Finding("hooks", "wrong", what, each.problem, f"edit {each.path}")
        unfit = installing.unfit(each.value, client)
        if unfit:
            what = f"{each.path} holds what {client.title} does not take"
            yield Finding("hooks", "wrong", what, unfit, f"edit {each.path}")
        if each.value.get("disableAllHooks") is True:
            what = f"{each.path} switches all hooks off"
            cause = '"disableAllHooks": true stands there'
            yield Finding("hooks", "wrong", what, cause, f"edit {each.path}")


def _missing(found: Sequence[Source], parts: int, client: Client) -> Iterator[Finding]:
    every = [hook for source in found for hook in source.hooks]
    missing = sources.lacking(every, parts, client)
    if not missing:
        return
    cause = one_line("; ".join(missing), 400)
    of_settings = [source for source in found if not source.plugin]
    if of_settings:
        fix = _repair(max(of_settings, key=lambda source: len(source.hooks)))
    else:  # a plugin registers what it was made with
        fix = f"set parts = {Settings().parts} in your holdfast.toml: more come only by settings"
    yield Finding("hooks", "wrong", "not all is registered", cause, fix)


def _repair(source: Source) -> str:
    """The command that brings what settings register to what it should be."""
    return source.client.command("install", source.scope)


def _twice(found: Sequence[Source]) -> Iterator[Finding]:
    for source, other in combinations(found, 2):
        if sources.run_twice(source, other):
            what = f"registered twice: in {source.name}, and in {other.name}"
            yield Finding("hooks", "wrong", what, "every hook runs twice", source.removal)
    for source in found:
        events = sources.doubled(source)
        if events:
            what = f"{source.name} registers {', '.join(sorted(events))} more than once"
            cause = "in different words, so both run"
            yield Finding("hooks", "wrong", what, cause, _repair(source))


def _programs(found: Sequence[Source], here: Surroundings) -> Iterator[Finding]:
    """Whether what is registered is there, and answers."""
    tried = set()
    for source in found:
        if source.plugin:
            # Where it lies is the client's business; who asks from there runs its environment.
            if launcher.THIS not in tried:
                tried.add(launcher.THIS)
                yield running.examine(
                    launcher.THIS, launcher.THIS.command, source.removal, source.client
                )
            continue
        started = [hook for hook in source.hooks if not hook.by_server]
        for hook in {hook.program: hook for hook in started}.values():
            if hook.program not in tried:
                tried.add(hook.program)
                yield _program(hook, source, here)


def _server(found: Sequence[Source], there: set[str] | None) -> Iterator[Finding]:
    """Whether the client has the server that hooks are to be answered by."""
    hooks = [hook for source in found for hook in source.hooks]
    if there is None or NAME in there or not any(hook.by_server for hook in hooks):
        return
    what = f"Claude Code has no MCP server {NAME}, which tool events are given to"
    program = next((hook.program for hook in hooks if not hook.by_server), ON_PATH)
    cause = "so nobody is reminded of unread files, and nothing is noted"
    yield Finding("hooks", "wrong", what, cause, adding(program))


def _program(hook: Hook, source: Source, here: Surroundings) -> Finding:
    program, name = hook.program, hook.program.command
    if "$" in hook.line or "~" in hook.line:
        what = f"`{hook.line}` was not tried"
        return Finding("command", "note", what, "only a shell can say what it starts", "")
    file = running.found_at(program, here)
    if file is None and running.is_path(name):
        what, cause = f"{name} is not there", f"{source.name} still registers it"
        return Finding("command", "wrong", what, cause, _repair(source))
    if file is None:
        what = f"`{name}` is not on the PATH"
        cause = f"{source.name} registers it by this name alone"
        return Finding("command", "wrong", what, cause, _repair(source))
    if source.scope != "user" and not launcher.is_this(program, file):
        # What comes with a repository may name any program; looking must not be what starts it.
        what = f"{file} was not tried"
        cause = f"it is another program than this one, and {source.name} names it"
        return Finding("command", "note", what, cause, _repair(source))
    return running.examine(program, file, _repair(source), source.client)
