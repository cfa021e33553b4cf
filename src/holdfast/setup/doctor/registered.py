"""Which settings register Holdfast: none, incompletely, by a path that is gone, more than once, not trusted.

The doctor asks of each hook that `install` would write whether it is there in that form, whichever program it starts. That
program is then started as the client would, in a throw-away project, to save and to restore. One that a repository names
is not started, unless it is this very installation.

Codex runs no hook that the person has not trusted in `/hooks`, and says nothing of it. It notes what it trusts
by its place in the file and a hash of its own, so that a hook which was changed since is not told from one
that was not.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from holdfast.agents import clients
from holdfast.agents.clients import CLAUDE, Client
from holdfast.config.project import Surroundings
from holdfast.config.settings import Settings, load
from holdfast.files import git
from holdfast.setup import clientsettings, registration
from holdfast.setup.clientsettings import HOOKS, Scopes, Source
from holdfast.setup.doctor import Finding
from holdfast.setup.plugin import marker
from holdfast.setup.registration import ON_PATH, PATIENCE, Hook, Program, mapping
from holdfast.text.plaintext import counted, one_line

_VERSION_PATIENCE = 20.0
_WORKFLOW = "Checkup"
_NOTES = "config.toml"  # Codex's
# What is tried of a session, under the names of all agents; then what brings everything back.
_TRIED = ("SessionStart-startup", "SessionStart-new", "PreCompact", "PreCompress")
_IN_PLUGIN = "hooks/hooks.json"
_RELOAD = "claude plugin enable holdfast@holdfast"  # what is run here is the plugin's own


def examine(here: Surroundings, client: Client = CLAUDE) -> Iterator[Finding]:
    """What the settings of *client* say of us."""
    scopes = clientsettings.look(here, client)
    found = scopes.sources()
    yield from examine_scopes(scopes)
    if not found:
        if client.with_comments and any(file.problem for file in scopes.files.values()):
            return  # what is registered is not known
        what = f"no settings register Holdfast{'' if client is CLAUDE else f' with {client.title}'}"
        cause = "so nothing is saved or restored by itself"
        of_plugin = client is CLAUDE and marker.is_ours(sys.prefix)
        by_program = "holdfast init" if client is CLAUDE else client.command("install", "user")
        fix = _RELOAD if of_plugin else by_program
        yield Finding("hooks", "wrong", what, cause, fix)
        yield _answers(registration.THIS, registration.THIS.command, fix, client)
        return
    for source in found:
        yield Finding("hooks", "good", f"{source.name}: {counted(len(source.hooks), 'hook')}")
    yield from _missing(found, load(None, here.config_file).settings.parts, client)
    yield from _programs(found, here)
    yield from named_in_vain(found, here)
    yield from _trust(scopes.folder, found, client)
    if client is CLAUDE:
        yield from _server(found, clientsettings.servers(scopes.root, here))


def examine_scopes(scopes: Scopes) -> Iterator[Finding]:
    """What keeps the hooks in *scopes* from running as they should, once each."""
    yield from _files(scopes)
    found = scopes.sources()
    yield from _twice(found)
    for source in found:
        path = source.path
        program = next((hook.program for hook in source.hooks if not hook.by_server), ON_PATH)
        if source.scope == "project" and not source.plugin and program != ON_PATH:
            what = f"{path} is for everybody in the project"
            cause = f"{program.command} is a path of this machine"
            fix = f"put `holdfast` on the PATH, then {source.repair}"
            yield Finding("hooks", "note", what, cause, fix)
        if source.scope == "local" and git.would_pick_up(os.path.realpath(path)):
            what, cause = f"git does not ignore {path}", "it belongs to you alone"
            yield Finding("hooks", "note", what, cause, "add it to .gitignore")


def _files(scopes: Scopes) -> Iterator[Finding]:
    client = scopes.client
    for file in scopes.files.values():
        path = file.path
        fix = f"move {path} away" if client.is_bridge else f"edit {path}"
        if file.problem and client.with_comments:
            what = f"{path} is not plain JSON, so what it registers is not known"
            yield Finding("hooks", "note", what, file.problem, fix)
        elif file.problem:
            what = f"{path} is not as {client.title} takes it"
            yield Finding("hooks", "wrong", what, file.problem, fix)
        if file.value.get("disableAllHooks") is True:
            what, cause = f"{path} switches all hooks off", 'it contains "disableAllHooks": true'
            yield Finding("hooks", "wrong", what, cause, fix)


def _missing(found: Sequence[Source], parts: int, client: Client) -> Iterator[Finding]:
    if any(source.plugin for source in found):  # a plugin registers what it was made with
        if parts > Settings().parts:
            what = f"the plugin sends {Settings().parts} parts of the reading, not {parts}"
            fix = (
                f"set parts = {Settings().parts} in your holdfast.toml: more come only by settings"
            )
            yield Finding("hooks", "wrong", what, "the rest would not be sent", fix)
        return
    hooks = [hook for source in found for hook in source.hooks]
    repair = max(found, key=lambda source: len(source.hooks)).repair
    if client.is_bridge:
        wanted = registration.hooks(hooks[0].program, client=client)
        if clientsettings.read(found[0].path, client).text != registration.text(wanted, client):
            what = f"{found[0].path} is not the plugin of this release"
            yield Finding("hooks", "wrong", what, "it is older, or was changed since", repair)
        return
    by_server = any(hook.by_server for hook in hooks)
    wanted = registration.hooks(parts=parts, client=client, by_server=by_server)
    there = {hook.form for hook in hooks}
    due = registration.registered(wanted, client)
    if missing := dict.fromkeys(hook.slot for hook in due if hook.form not in there):
        what = "not everything is registered as this release does it"
        yield Finding("hooks", "wrong", what, one_line(", ".join(missing), 400), repair)


def _twice(found: Sequence[Source]) -> Iterator[Finding]:
    for source, other in combinations(found, 2):
        if clientsettings.run_twice(source, other):
            what = f"registered twice: in {source.name}, and in {other.name}"
            yield Finding("hooks", "wrong", what, "every hook runs twice", source.removal)
    for source in found:
        if events := clientsettings.run_twice(source, source):
            what = f"{source.name} registers {', '.join(sorted(events))} more than once"
            cause = "in different words, so both run"
            yield Finding("hooks", "wrong", what, cause, source.repair)


def _programs(found: Sequence[Source], here: Surroundings) -> Iterator[Finding]:
    """Whether what is registered is there, and answers."""
    tried = set()
    for source in found:
        for hook in source.hooks:
            # Where a plugin lies is the client's business; who asks from there runs its environment.
            program = registration.THIS if source.plugin else hook.program
            if not hook.by_server and program not in tried:
                tried.add(program)
                yield _program(hook, source, here)


def named_in_vain(found: Sequence[Source], here: Surroundings) -> Iterator[Finding]:
    """Whether the `holdfast` that agents are told to run is found; a plugin puts it on their PATH."""
    by_plugin = marker.is_ours(sys.prefix) or any(source.plugin for source in found)
    if not by_plugin and not shutil.which(ON_PATH.command, path=here.search_path):
        what, cause = "`holdfast` is not on the PATH", "agents are told to run it"
        script = registration.whole_path().command
        fix = f"link {script} into a folder on the PATH, or install Holdfast with pipx"
        yield Finding("command", "note", what, cause, fix)


def _server(found: Sequence[Source], there: set[str] | None) -> Iterator[Finding]:
    """Whether the client has the server that hooks are to be answered by."""
    hooks, name = [hook for source in found for hook in source.hooks], registration.NAME
    if there is None or name in there or not any(hook.by_server for hook in hooks):
        return
    what = f"Claude Code has no MCP server {name}, which tool events are given to"
    program = next((hook.program for hook in hooks if not hook.by_server), ON_PATH)
    cause = "so nobody is reminded of unread files, and nothing is noted"
    yield Finding("hooks", "wrong", what, cause, registration.adding(program))


def _program(hook: Hook, source: Source, here: Surroundings) -> Finding:
    if source.plugin:
        this = registration.THIS
        return _answers(this, this.command, source.removal, source.client)
    program, name, fix = hook.program, hook.program.command, source.repair
    if "$" in hook.line or "~" in hook.line:
        what = f"`{hook.line}` was not tested"
        return Finding("command", "note", what, "only a shell can say what it starts")
    if "/" in name or "\\" in name:  # it says where the program lies
        file, missing = shutil.which(os.path.join(here.cwd, name)), f"{name} is not there"
    else:
        file = registration.find_on_path(name, here.search_path, here.virtual_env)
        missing = f"`{name}` is not on the PATH"
    if file is None:
        return Finding("command", "wrong", missing, f"{source.name} registers it", fix)
    if source.scope != "user" and not registration.is_this_installation(program, file):
        # What comes with a repository may name any program; looking must not be what starts it.
        cause = f"it is another program than this one, and {source.name} names it"
        return Finding("command", "note", f"{file} was not tested", cause, fix)
    return _answers(program, file, fix, source.client)


def _trust(folder: str | None, found: Sequence[Source], client: Client) -> Iterator[Finding]:
    """What is noted of the hooks of ours in each of *found*."""
    if not client.trust or folder is None:
        return
    notes = os.path.join(folder, _NOTES)
    states = mapping(mapping(clientsettings.toml(notes).get("hooks")).get("state"))
    for source in found:
        places = list(_places(source))
        names = [source.path, os.path.realpath(source.path)]  # what it may call the file
        if source.plugin:
            names = [f"{source.plugin}:{_IN_PLUGIN}"]
        noted = [
            next((mapping(states[name + place]) for name in names if name + place in states), {})
            for place in places
        ]
        hooks = counted(len(places), "hook") + f" of {source.name}"
        untold = sum("trusted_hash" not in state for state in noted)
        off = sum(state.get("enabled") is False for state in noted)
        if untold or off:
            what = f"{untold or off} of {hooks} {'not trusted' if untold else 'switched off'}"
            yield Finding(
                "trust", "wrong", f"{what} in {client.title}", f"see {notes}", client.trust
            )
        else:
            what = f"{client.title} was told to trust {hooks}"
            cause = "one that has changed since has to be trusted again"
            yield Finding("trust", "good", what, cause)


def _places(source: Source) -> Iterator[str]:
    """Where each of our hooks stands in the file, as Codex says it: `:session_start:0:0`."""
    events = {row.event for row in source.client.rows}
    if source.plugin:
        hooks: Any = registration.hooks(registration.PLUGIN)
        events.update(source.client.plugin_events)
    else:
        hooks = clientsettings.read(source.path).value.get(HOOKS)
    for number, place, hook in registration.located(hooks):
        if hook.event in events:
            name = re.sub(r"(?<!^)([A-Z])", r"_\1", hook.event).lower()
            yield f":{name}:{number}:{place}"


# Whether what is registered answers, and which version the client has.


def _answers(program: Program, file: str, fix: str, client: Client = CLAUDE) -> Finding:
    """Whether *program*, which *file* starts, saves and restores as hooks of *client* have to."""
    arguments = [*program.first, "hook", *client.said]
    name = " ".join([program.command, *arguments])
    runs = list(_runs([file, *arguments], client))
    failed = [f"{payload}: {trouble}" for payload, _, trouble in runs if trouble]
    if failed:
        what = f"`{name}` does not save and restore"
        return Finding("command", "wrong", what, "; ".join(failed), fix)
    took = f"at most {1000 * max(seconds for _, seconds, _ in runs):.0f} ms each"
    return Finding("command", "good", f"`{name}` saves and restores, in {took}")


def _runs(command: Sequence[str], client: Client) -> Iterator[tuple[str, float, str]]:
    """A start, a save and a restore: each payload, its seconds, and what was wrong with the answer."""
    with tempfile.TemporaryDirectory(prefix="holdfast-checkup-") as folder:
        project = Path(folder) / "project"
        (project / "docs").mkdir(parents=True)
        (project / "docs" / "guide.md").write_text("# Guide\n\nLook first.\n", encoding="utf-8")
        (project / "CLAUDE.local.md").write_text(
            f"# Current Workflow State\n\nWorkflow: {_WORKFLOW}\nPhase: 1/2 - Look\n\n@docs/guide.md\n",
            encoding="utf-8",
        )
        environment = _environment(folder, str(project))
        known = clients.payload_names(client.name)
        for name in (name for name in (*_TRIED, client.restored_by) if name in known):
            payload = clients.payload(name, str(project), client.name)
            begun = time.perf_counter()
            said, trouble = _answer(command, payload, environment, project)
            spent = time.perf_counter() - begun
            yield (name, spent, trouble or _misspoken(name, said, client))


def _environment(folder: str, project: str) -> dict[str, str]:
    """This one, but with settings and notes of its own, and as a client sets it."""
    others = ("HOLDFAST_", "CLAUDE_CODE_", "CLAUDE_PROJECT_DIR")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(others)}
    own = {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config"}
    return {**kept, **own, "CLAUDE_PROJECT_DIR": project}


def _answer(
    command: Sequence[str], payload: Mapping[str, object], environment: dict[str, str], cwd: Path
) -> tuple[str, str]:
    """What it said, and what kept it from saying anything."""
    try:
        done = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            cwd=cwd,
            env=environment,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {PATIENCE:.0f} s"
    except OSError as error:
        return "", f"it cannot be started: {error.strerror or error}"
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return "", one_line(f"exit code {done.returncode}: {last or 'nothing on stderr'}", 200)
    return done.stdout.decode("utf-8", "replace"), ""


def _misspoken(name: str, said: str, client: Client) -> str:
    """What is wrong with what a hook *said* to the payload called *name*, if anything."""
    if name == client.restored_by:
        with contextlib.suppress(ValueError):
            if _WORKFLOW in str(json.loads(said)):
                return ""
    else:
        is_note = name == "PreCompact" and client.plain_notes  # the summariser gets it as it stands
        if not is_note or (said.startswith("Keep word for word") and _WORKFLOW in said):
            return ""
    return one_line(f"it said {said!r}" if said else "it said nothing", 200)


def examine_client(client: Client = CLAUDE) -> Iterator[Finding]:
    """Which version of *client* PATH leads to, against those that Holdfast was tried with."""
    name, title, tried = client.name, client.title, client.tried
    program = shutil.which(name)
    version = _version(program) if program else None
    if version is None:
        cause = f"`{name}` is not on the PATH here, or prints none"
        yield Finding("client", "note", f"the version of {title} is not known", cause)
        return
    is_older = _number(version) < _number(tried[0])
    if is_older or (client is not CLAUDE and _number(version) > _number(tried[-1])):
        what = f"{title} {version} is {'older' if is_older else 'newer'} than what was tested"
        cause = f"tried: {', '.join(tried)}; its hooks may differ"
        yield Finding("client", "note", what, cause, client.update if is_older else "")
    else:
        yield Finding("client", "good", f"{title} {version}")


def _version(program: str) -> str | None:
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb"\b(\d+\.\d+\.\d+)\b", done.stdout)
    return found[1].decode() if found else None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
