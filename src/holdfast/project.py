"""Where we are: the only place that reads the environment and the working directory.

Paths are strings and there is no dataclass here on purpose: this runs before we know whether there
is anything to do, and pathlib and dataclasses would double the price of finding out that there is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from holdfast import columns, homes
from holdfast.capabilities import USUAL, Capabilities
from holdfast.errors import StateUnreadable
from holdfast.regular import read_file


class Surroundings(NamedTuple):
    """What the process was started with, as far as Holdfast wants to know."""

    cwd: str
    client_project: str | None  # CLAUDE_PROJECT_DIR: where the session started
    session: str | None  # which session a command was called from
    state_dir: str | None  # the user's folder for logs and session records; None without a home
    config_file: str | None
    disabled: bool
    agent_dirs: Mapping[str, str] = {}  # where each agent keeps what is the user's own, by its name
    search_path: str = ""  # PATH
    virtual_env: str | None = None  # the environment that is activated in this shell
    colourless: bool = False  # NO_COLOR is set, or the terminal is a dumb one
    columns: int | None = None  # COLUMNS: how wide the client's terminal is, for the status line
    home: str | None = None
    pipeline_session: str | None = None  # HOLDFAST_SESSION: where new workflows of a pipeline go
    played: bool = False  # HOLDFAST_PLAYED: the events are played by `simulate`
    takes: Capabilities = USUAL  # what whoever asks can take

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Surroundings:
        try:
            cwd = os.getcwd()
        except OSError:  # the directory was removed under us
            cwd = environ.get("CLAUDE_PROJECT_DIR") or os.sep
        return cls(
            cwd=cwd,
            client_project=environ.get("CLAUDE_PROJECT_DIR") or None,
            session=_session(environ),
            state_dir=homes.for_state(environ),
            config_file=homes.below(homes.for_settings(environ), "holdfast.toml"),
            disabled=homes.is_switched_off(environ),
            agent_dirs=_agent_dirs(environ, cwd),
            search_path=environ.get("PATH", ""),
            virtual_env=environ.get("VIRTUAL_ENV") or environ.get("CONDA_PREFIX") or None,
            colourless=columns.is_colourless(environ),
            columns=columns.of_terminal(environ),
            home=homes.home(environ),
            pipeline_session=environ.get("HOLDFAST_SESSION") or None,
            played=bool(environ.get("HOLDFAST_PLAYED")),
        )


class AgentVariables(NamedTuple):
    """What the environment tells of an agent."""

    home: str  # names the folder of what is the user's own
    below: str  # where that lies below what stands there; "" where it is that itself
    below_home: str  # where it lies otherwise
    session: str = ""  # tells the agent's shell which session it belongs to


AGENT_VARIABLES = {
    "claude": AgentVariables("CLAUDE_CONFIG_DIR", "", ".claude", "CLAUDE_CODE_SESSION_ID"),
    "codex": AgentVariables("CODEX_HOME", "", ".codex", "CODEX_SESSION_ID"),
    "qwen": AgentVariables("QWEN_HOME", "", ".qwen", "QWEN_CODE_SESSION_ID"),
    "copilot": AgentVariables("COPILOT_HOME", "", ".copilot", "COPILOT_AGENT_SESSION_ID"),
    "gemini": AgentVariables("GEMINI_CLI_HOME", ".gemini", ".gemini"),
    "opencode": AgentVariables("XDG_CONFIG_HOME", "opencode", ".config/opencode"),
}


def _session(environ: Mapping[str, str]) -> str | None:
    """The session of the shell. Where one agent has started another, that of the first in the table."""
    told = (environ.get(each.session) for each in AGENT_VARIABLES.values() if each.session)
    return next(filter(None, told), None)


def _agent_dirs(environ: Mapping[str, str], cwd: str) -> dict[str, str]:
    home, found = homes.home(environ), {}
    for agent, known in AGENT_VARIABLES.items():
        chosen = environ.get(known.home)
        if chosen:  # a relative one counts from where the agent starts
            found[agent] = os.path.normpath(os.path.join(cwd, chosen, known.below))
        elif home:
            found[agent] = os.path.join(home, known.below_home)
    return found


def variables_of_home(home: str) -> dict[str, str]:
    """The environment of a process that is to have *home* as its home, on any system."""
    data = os.path.join(home, "AppData")
    return {
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": os.path.join(data, "Roaming"),
        "LOCALAPPDATA": os.path.join(data, "Local"),
    }


def candidates(cwd: str, client_project: str | None) -> list[str]:
    """Folders that could be the project's root, best first.

    Upwards from *cwd* to the top of its git checkout; without git, up to where the session
    started, or *cwd* alone, so that a PLAN.md in some shared parent folder is never picked up.
    Then the main worktree, then where the session started.
    """
    cwd = os.path.realpath(cwd)
    started = os.path.realpath(client_project) if client_project else None
    top = git_top(cwd)
    limit = top or (started if started and contains(started, cwd) else cwd)
    found = [cwd]
    while found[-1] != limit:
        found.append(os.path.dirname(found[-1]))
    for extra in (main_worktree(top) if top else None, started):
        if extra and extra not in found:
            found.append(extra)
    return [folder for folder in found if os.path.isdir(folder)]


def root_for_new(cwd: str, client_project: str | None) -> str:
    """Where a workflow that is started now is kept, when nothing is declared or held yet."""
    cwd = os.path.realpath(cwd)
    top = git_top(cwd)
    if top:
        return top
    started = os.path.realpath(client_project) if client_project else cwd
    return started if contains(started, cwd) else cwd


def locate(folders: list[str], present: Callable[[str], bool], fallback: str) -> str:
    """The first folder that declares or holds a workflow, else *fallback*."""
    return next((folder for folder in folders if present(folder)), fallback)


def contains(folder: str, path: str) -> bool:
    """Whether *path* is *folder* or lies below it; both must be real paths."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def git_top(folder: str) -> str | None:
    """The top of the checkout that *folder* lies in."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _git_dir(top: str) -> str | None:
    git = os.path.join(top, ".git")
    if os.path.isdir(git):
        return git
    pointer = _first_line(git)
    if not pointer.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))


def main_worktree(top: str) -> str | None:
    """The main worktree of the linked worktree at *top*."""
    git = _git_dir(top)
    common = _first_line(os.path.join(git, "commondir")) if git else ""
    if not git or not common:
        return None
    shared = os.path.realpath(os.path.join(git, common))
    main = os.path.dirname(shared)
    if os.path.basename(shared) != ".git" or not _is_linked(shared, git, top):
        return None
    return main if os.path.isdir(main) else None


def _is_linked(shared: str, git: str, top: str) -> bool:
    """Whether the repository *shared* knows the worktree at *top* as its own, by the folder *git*.

    Anybody can write a `.git` that points at somebody else's repository.
    """
    back = _first_line(os.path.join(git, "gitdir"))
    known = os.path.dirname(git) == os.path.join(shared, "worktrees") and back
    return bool(known) and os.path.realpath(os.path.join(git, back)) == os.path.realpath(
        os.path.join(top, ".git")
    )


def branch(folder: str) -> str | None:
    """The checked-out branch; None without git or with a detached HEAD."""
    top = git_top(folder)
    git = _git_dir(top) if top else None
    head = _first_line(os.path.join(git, "HEAD")) if git else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def commit(folder: str) -> str | None:
    """The checked-out commit, where a file of its own names it; of what is packed, git has to be asked."""
    top = git_top(folder)
    git = _git_dir(top) if top else None
    head = _first_line(os.path.join(git, "HEAD")) if git else ""
    if git and head.startswith("ref: refs/heads/") and ".." not in head:
        shared = os.path.join(git, _first_line(os.path.join(git, "commondir")))
        head = _first_line(os.path.join(shared, head.removeprefix("ref: ")))
    return head if len(head) in {40, 64} and not head.strip("0123456789abcdef") else None


def _first_line(path: str) -> str:
    try:
        data, _ = read_file(path, 4096)
    except StateUnreadable:
        return ""
    return data.decode("utf-8", "replace").partition("\n")[0].strip()
