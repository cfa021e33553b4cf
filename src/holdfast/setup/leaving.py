"""What `uninstall --purge` takes away: everything of ours in the home, and in each project that is known.

Known are the projects that the log of hooks, a command or the record of a session names, and the one around the current folder.
What git tracks is not taken away, for others have it as well. Nor is a workflow's state that another tool wrote. Those that
are taken away, and the archive of those that ended, are first put into one file in the home.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from holdfast.agents.clients import CLAUDE, CLIENTS, Client
from holdfast.config.project import Surroundings, candidates
from holdfast.errors import StateOutOfReach, StateUnreadable
from holdfast.files import git, jsontext, ownjson
from holdfast.files.regular import read_file, read_json
from holdfast.files.store import LARGEST, PRIVATE, Store, changing, remove
from holdfast.formats.canonical import files as canonical
from holdfast.records import hooklog, sessionlog
from holdfast.setup import clientsettings, extras, installing, skill
from holdfast.setup.registration import NAME, mapping, starts_us
from holdfast.text.plaintext import counted

_LARGEST_LOG = 2 * 1024 * 1024
_IGNORES_ALL = b"*\n"
_SERVERS = "mcpServers"
_SETTINGS = ".claude/holdfast.toml"  # of a project


class Remnant(NamedTuple):
    """Something of ours at *path*; *stays* says why it is not taken away."""

    path: str
    what: str
    remove: Callable[[], object] = lambda: None
    stays: str = ""
    archived: bool = False  # whether it is kept in the archive first


class Group(NamedTuple):
    """What there is in the home, or in one project."""

    title: str
    remnants: list[Remnant]

    @property
    def removable(self) -> list[Remnant]:
        return [remnant for remnant in self.remnants if not remnant.stays]


def find(here: Surroundings) -> list[Group]:
    """All that is ours: project by project, the home last, because it knows the projects."""
    home = list(_in_home(here))
    named = {os.path.realpath(remnant.path) for remnant in home}
    groups = []
    for root in _projects(here):
        found = [
            _unless_tracked(remnant)
            for remnant in _in_project(root, here.state_dir)
            if os.path.realpath(remnant.path) not in named
        ]
        groups.append(Group(root, found))
    return [group for group in (*groups, Group("your home", home)) if group.remnants]


def with_states(here: Surroundings) -> int:
    """The number of projects that have states of workflows or a project record."""
    return sum(any(_kept(root)) for root in _projects(here))


def archive(groups: list[Group], path: str) -> bool:
    """Put the states that are to go into one file at *path*; whether there are any."""
    kept = [remnant for group in groups for remnant in group.removable if remnant.archived]
    if not kept:
        return False
    with (
        changing(path),
        open(path, "xb") as stream,
        tarfile.open(fileobj=stream, mode="w:gz") as packed,
    ):
        os.chmod(path, 0o600)
        for remnant in kept:
            packed.add(remnant.path)
    return True


def _projects(here: Surroundings) -> list[str]:
    """The folders where hooks or commands ran or sessions worked, and those around the current one."""
    logs = _matching(here.state_dir, "projects", "*", "hook.jsonl*")
    roots = [
        str(record.get("root")) for path in logs for record in ownjson.read(path, _LARGEST_LOG)
    ]
    for path in _matching(here.state_dir, sessionlog.RECORDS, "*.json"):
        with contextlib.suppress(StateUnreadable):
            roots.append(str(mapping(read_json(path, LARGEST)).get("root")))
    for path in _matching(here.state_dir, "projects", "*", hooklog.ROOT):
        with contextlib.suppress(StateUnreadable):
            roots.append(os.fsdecode(read_file(path, LARGEST)[0]))
    known = [*candidates(here.cwd, here.client_project), *sorted(set(roots))]
    return [root for root in dict.fromkeys(known) if os.path.isabs(root) and os.path.isdir(root)]


def _matching(folder: str | None, *pattern: str) -> list[str]:
    """What matches *pattern* below *folder*; nothing where that is not known."""
    return glob.glob(os.path.join(glob.escape(folder), *pattern)) if folder else []


def _unless_tracked(remnant: Remnant) -> Remnant:
    if not remnant.stays and git.tracks(os.path.realpath(remnant.path)):
        return remnant._replace(stays="git tracks it, so others have it too")
    return remnant


# In the home.


def _in_home(here: Surroundings) -> Iterator[Remnant]:
    for client in CLIENTS.values():
        folder = here.agent_dirs.get(client.name)
        if folder and "user" in client.files:
            path = os.path.join(folder, client.files["user"])
            yield from _settings(path, client, here.state_dir)
    own = here.agent_dirs.get(CLAUDE.name)
    for folder in dict.fromkeys(filter(None, (here.home, own))):
        yield from _servers(os.path.join(folder, ".claude.json"))
    if own:
        yield from _skill(own)
        plugins = (source for source in clientsettings.look(here).sources() if source.plugin)
        for source in plugins:
            yield Remnant(source.path, f"the plugin {source.plugin}", stays=source.removal)
    if here.config_file and os.path.lexists(here.config_file):
        yield Remnant(here.config_file, "your settings", partial(remove, here.config_file, above=1))
    if here.state_dir and os.path.isdir(here.state_dir):
        what = "sessions, logs and prepared answers"
        yield Remnant(here.state_dir, what, partial(remove, here.state_dir, folder=True))
    # Last, since this may run from there. The plugin's hooks, which would write again, do nothing without it.
    for folder in _matching(own, "plugins", "data", f"{NAME}-*"):
        if os.path.isfile(os.path.join(folder, "setup.lock")):
            yield Remnant(folder, "the plugin's environment", partial(remove, folder, folder=True))


# In a project.


def _in_project(root: str, state_dir: str | None) -> Iterator[Remnant]:
    for scope in ("project", "local"):
        path = os.path.join(root, CLAUDE.files[scope])
        yield from _settings(path, CLAUDE, state_dir)
    yield from _servers(os.path.join(root, ".mcp.json"))
    yield from _skill(os.path.join(root, ".claude"))
    settings = os.path.join(root, _SETTINGS)
    if os.path.lexists(settings):
        yield Remnant(settings, "settings of the project", partial(remove, settings, above=1))
    yield from _kept(root)


def _kept(root: str) -> Iterator[Remnant]:
    """The states of workflows, and the project record."""
    yield from _states(Store(root))
    private = os.path.join(root, PRIVATE)
    if os.path.islink(private):
        yield Remnant(private, "the project record", stays="it is a link")
        return
    ended = os.path.join(private, "archive")
    if os.path.isdir(ended):
        what = "the last states of workflows that ended"
        yield Remnant(ended, what, partial(remove, ended, folder=True), archived=True)
    if os.path.isdir(private):
        what = "the project record and copies of states"
        yield Remnant(private, what, partial(remove, private, above=1, folder=True))


def _states(store: Store) -> Iterator[Remnant]:
    """Each state of a canonical workflow that we have written."""
    try:
        paths = [str(path) for path in canonical.paths(store)]
    except StateOutOfReach as error:
        yield Remnant(str(error.path), "states of workflows", stays=error.reason)
        return
    folder = str(store.root / canonical.FOLDER)
    for path in paths:
        try:
            state = mapping(read_json(path, LARGEST))
        except StateUnreadable as error:
            yield Remnant(path, "a workflow", stays=error.reason)
            continue
        what = f"the workflow {state.get('workflow')!r}"
        stays = "" if NAME in state else "another tool wrote it"
        yield Remnant(path, what, partial(_remove_state, path, folder), stays, archived=True)
    if not paths and _is_ignored_alone(folder):
        yield Remnant(folder, "a folder of Holdfast's, now empty", partial(_remove_ignored, folder))


def _remove_state(path: str, folder: str) -> None:
    remove(path, above=1)
    if _is_ignored_alone(folder):
        _remove_ignored(folder)


def _is_ignored_alone(folder: str) -> bool:
    """Whether nothing lies in *folder* but the .gitignore that we have put there."""
    ignore = os.path.join(folder, ".gitignore")
    with contextlib.suppress(OSError, StateUnreadable):
        return os.listdir(folder) == [".gitignore"] and read_file(ignore, 64)[0] == _IGNORES_ALL
    return False


def _remove_ignored(folder: str) -> None:
    remove(os.path.join(folder, ".gitignore"), above=2)


# In both.


def _settings(path: str, client: Client, state_dir: str | None) -> Iterator[Remnant]:
    file = clientsettings.read(path, client)
    has_extras = extras.are_in(file.value)
    if file.problem and NAME.encode() in file.raw:
        yield Remnant(path, "what may be ours", stays=file.problem)
        return
    if not (file.hooks or has_extras):
        return
    hooks = [counted(len(file.hooks), "hook")] if file.hooks else []
    what = " and ".join([*hooks, *(["the permission rule or status line"] if has_extras else [])])
    yield Remnant(path, what, partial(_take_out, path, client, state_dir))


def _take_out(path: str, client: Client, state_dir: str | None) -> None:
    file = clientsettings.read(path, client)
    installing.uninstall(installing.taking_out(file, state_dir), state_dir)


def _skill(folder: str) -> Iterator[Remnant]:
    path = skill.path_in(folder)
    if os.path.lexists(path):
        stays = "" if skill.is_as_written(path) else "it was changed"
        yield Remnant(path, "the skill for agents", partial(skill.remove, path), stays)


def _servers(path: str) -> Iterator[Remnant]:
    file = clientsettings.read(path)
    if any(_server_entries(file.value)):
        yield Remnant(path, "the MCP server", partial(_take_out_servers, path))


def _take_out_servers(path: str) -> None:
    file = clientsettings.read(path)
    text = file.text
    while entry := next(_server_entries(jsontext.value_in(text)), None):
        text = jsontext.removed(text, entry)
    after = None if jsontext.value_in(text) == {_SERVERS: {}} else text.encode()
    installing.uninstall(installing.Change(file, after), None)


def _server_entries(value: Any) -> Iterator[tuple[str, ...]]:
    """Where *value* tells the client of our server: for all projects, or for one."""
    projects = mapping(mapping(value).get("projects"))
    for above in ((), *(("projects", root) for root in projects)):
        holder = projects[above[1]] if above else value
        entry = mapping(mapping(mapping(holder).get(_SERVERS)).get(NAME))
        arguments = entry.get("args")
        words = [entry.get("command"), *(arguments if isinstance(arguments, list) else ())]
        if all(isinstance(word, str) for word in words) and starts_us(shlex.join(words), "mcp"):
            yield (*above, _SERVERS, NAME)
