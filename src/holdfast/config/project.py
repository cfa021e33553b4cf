"""Where we are: the only place that reads the environment and the working directory.

Paths are strings and there is no dataclass here on purpose: this runs before we know whether there
is anything to do, and pathlib and dataclasses would double the price of finding out that there is not.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Mapping
from typing import NamedTuple

from holdfast.config import homes
from holdfast.config.capabilities import USUAL, Capabilities
from holdfast.errors import StateUnreadable
from holdfast.files.inputs import UNRECORDED, Inputs
from holdfast.files.regular import contains, decode_json
from holdfast.patterns import pattern
from holdfast.text.room import is_colourless

_LARGEST_LOG = 4 * 1024 * 1024
_LARGEST_SETTINGS = 1024 * 1024  # of the client
# As git logs that a branch was created, and that HEAD moved to another one.
_CREATED = pattern(
    r".* (?P<at>\d+) [+-]\d+\tbranch: Created from "
    r"(?:refs/heads/|refs/remotes/[^/]+/|origin/)?(?P<origin>.+)"
)
_MOVED = pattern(r" (?P<at>\d+) [+-]\d+\tcheckout: moving from (?P<origin>\S+) to (?P<to>\S+)")


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
    home: str | None = None
    pipeline_session: str | None = None  # HOLDFAST_SESSION: where new workflows of a pipeline go
    played: bool = False  # HOLDFAST_PLAYED: the events are played by `simulate`
    capabilities: Capabilities = USUAL  # the caller's capabilities
    inputs: Inputs = UNRECORDED  # through which the disk is looked at

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
            colourless=is_colourless(environ),
            home=homes.home(environ),
            pipeline_session=environ.get("HOLDFAST_SESSION") or None,
            played=bool(environ.get("HOLDFAST_PLAYED")),
        )

    def plans_folder(self, root: str) -> str:
        """Where the client's plan mode writes its plans. Only the user's settings may name a folder outside *root*."""
        user = self.agent_dirs.get("claude", "")
        usual = os.path.join(user or root, "plans" if user else ".claude/plans")
        names = (".claude/settings.local.json", ".claude/settings.json")
        files = [(os.path.join(root, name), root) for name in names]
        for path, within in (*files, (os.path.join(user, "settings.json"), None)):
            with contextlib.suppress(StateUnreadable, ValueError):
                found = decode_json(
                    self.inputs.read_file(path, _LARGEST_SETTINGS, within=within)[0]
                )
                folder = found.get("plansDirectory") if isinstance(found, dict) else None
                if isinstance(folder, str):
                    folder = os.path.normpath(os.path.join(root, folder))
                    return folder if within is None or contains(root, folder) else usual
        return usual


def plans_below(root: str, folder: str) -> tuple[str, ...]:
    """A glob for the plans in *folder*, if it lies in the project at *root*."""
    inside = os.path.relpath(folder, root).replace(os.sep, "/")
    return () if inside.split("/")[0] in {".", ".."} else (f"{glob.escape(inside)}/*.md",)


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
    told = (environ.get(known.session) for known in AGENT_VARIABLES.values() if known.session)
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


def candidates(cwd: str, client_project: str | None, inputs: Inputs = UNRECORDED) -> list[str]:
    """Folders that could be the project's root, best first.

    Upwards from *cwd* to the top of its git checkout; without git, up to where the session
    started, or *cwd* alone, so that a PLAN.md in some shared parent folder is never picked up.
    Then the main worktree, then where the session started.
    """
    cwd = inputs.real_path(cwd)
    started = inputs.real_path(client_project) if client_project else None
    top = git_top(cwd, inputs)
    limit = top or (started if started and contains(started, cwd) else cwd)
    found = [cwd]
    while found[-1] != limit:
        found.append(os.path.dirname(found[-1]))
    for extra in (main_worktree(top, inputs) if top else None, started):
        if extra and extra not in found:
            found.append(extra)
    return [folder for folder in found if inputs.is_dir(folder)]


def root_for_new(cwd: str, client_project: str | None, inputs: Inputs = UNRECORDED) -> str:
    """Where a workflow that is started now is kept, when nothing is declared or held yet."""
    cwd = inputs.real_path(cwd)
    top = git_top(cwd, inputs)
    if top:
        return top
    started = inputs.real_path(client_project) if client_project else cwd
    return started if contains(started, cwd) else cwd


def git_top(folder: str, inputs: Inputs = UNRECORDED) -> str | None:
    """The top of the checkout that *folder* lies in."""
    while not inputs.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _git_dir(top: str, inputs: Inputs) -> str | None:
    git = os.path.join(top, ".git")
    if inputs.is_dir(git):
        return git
    pointer = _first_line(git, inputs)
    if not pointer.startswith("gitdir:"):
        return None
    return inputs.real_path(os.path.join(top, pointer.removeprefix("gitdir:").strip()))


def main_worktree(top: str, inputs: Inputs = UNRECORDED) -> str | None:
    """The main worktree of the linked worktree at *top*."""
    git, shared = _git_dirs(top, inputs)
    if shared == git:
        return None
    shared = inputs.real_path(shared)
    main = os.path.dirname(shared)
    if os.path.basename(shared) != ".git" or not _is_linked(shared, git, top, inputs):
        return None
    return main if inputs.is_dir(main) else None


def _is_linked(shared: str, git: str, top: str, inputs: Inputs) -> bool:
    """Whether the repository *shared* knows the worktree at *top* as its own, by the folder *git*.

    Anybody can write a `.git` that points at somebody else's repository.
    """
    back = _first_line(os.path.join(git, "gitdir"), inputs)
    known = os.path.dirname(git) == os.path.join(shared, "worktrees") and back
    return bool(known) and inputs.real_path(os.path.join(git, back)) == inputs.real_path(
        os.path.join(top, ".git")
    )


def branch(folder: str, inputs: Inputs = UNRECORDED) -> str | None:
    """The checked-out branch; None without git or with a detached HEAD."""
    return _head(_git_dirs(folder, inputs)[0], inputs)


def _head(git: str, inputs: Inputs) -> str | None:
    head = _first_line(os.path.join(git, "HEAD"), inputs) if git else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def is_gone(folder: str, name: str, inputs: Inputs = UNRECORDED) -> bool:
    """Whether the repository of *folder* has no branch *name* any more; before its first commit it has none at all."""
    here = branch(folder, inputs)
    return bool(here and has_branch(folder, here, inputs) and not has_branch(folder, name, inputs))


def created_from(folder: str, inputs: Inputs = UNRECORDED) -> str | None:
    """The branch that the checked-out one of *folder* was created from, if git has logged it."""
    git, shared = _git_dirs(folder, inputs)
    name = _head(git, inputs)
    if not name or ".." in name:
        return None
    created = _CREATED.match(_text(os.path.join(shared, "logs", "refs", "heads", name), inputs))
    if not created or created["origin"] != "HEAD":
        return created["origin"] if created else None
    logs = (_text(os.path.join(at, "logs", "HEAD"), inputs) for at in (git, shared))
    own, main = ([*_MOVED.finditer(log)] for log in logs)
    at = int(created["at"])
    for move in (*own, *main):
        if move["to"] == name and int(move["at"]) - at in {0, 1}:
            return move["origin"]
    # It came with a worktree of its own, from what the main one was on.
    before = [move["to"] for move in main if int(move["at"]) <= at]
    return before[-1] if before else main[0]["origin"] if main else _head(shared, inputs)


def has_branch(folder: str, name: str, inputs: Inputs = UNRECORDED) -> bool:
    """Whether the repository around *folder* has a branch called *name*."""
    shared = _git_dirs(folder, inputs)[1]
    if not shared or ".." in name:
        return False
    packed = _text(os.path.join(shared, "packed-refs"), inputs)
    loose = os.path.join(shared, "refs", "heads", name)
    return inputs.is_file(loose) or f" refs/heads/{name}\n" in packed


def _git_dirs(folder: str, inputs: Inputs) -> tuple[str, str]:
    """The git folder of the checkout, and the one that all worktrees share; empty without git."""
    top = git_top(folder, inputs)
    git = (_git_dir(top, inputs) if top else None) or ""
    common = _first_line(os.path.join(git, "commondir"), inputs) if git else ""
    return git, os.path.normpath(os.path.join(git, common)) if git else ""


def commit(folder: str, inputs: Inputs = UNRECORDED) -> str | None:
    """The checked-out commit, where a file of its own names it; of what is packed, git has to be asked."""
    git, shared = _git_dirs(folder, inputs)
    head = _first_line(os.path.join(git, "HEAD"), inputs) if git else ""
    if head.startswith("ref: refs/heads/") and ".." not in head:
        head = _first_line(os.path.join(shared, head.removeprefix("ref: ")), inputs)
    return head if len(head) in {40, 64} and not head.strip("0123456789abcdef") else None


def _first_line(path: str, inputs: Inputs) -> str:
    return _text(path, inputs, 4096).partition("\n")[0].strip()


def _text(path: str, inputs: Inputs, most: int = _LARGEST_LOG) -> str:
    try:
        return inputs.read_file(path, most)[0].decode("utf-8", "replace")
    except StateUnreadable:
        return ""
