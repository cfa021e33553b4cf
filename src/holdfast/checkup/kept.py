"""What is kept for the project: settings, folders that must be writable, states, what is left over."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from holdfast import git, hooklog, settings, sync
from holdfast.checkup.finding import Finding
from holdfast.clock import Clock
from holdfast.errors import StateUnreadable
from holdfast.formats.base import Workflow
from holdfast.formats.registry import FORMATS, format_of
from holdfast.plaintext import one_line
from holdfast.project import Surroundings
from holdfast.regular import read_file
from holdfast.store import COMMAND_WAIT, LARGEST
from holdfast.sync import Synced

_LAST_RUNS = 50
FIX = "holdfast doctor --fix"


def examine(synced: Synced, surroundings: Surroundings, clock: Clock) -> Iterator[Finding]:
    """All that lies in the project and in the user's folder."""
    yield from _settings(synced, surroundings)
    yield from _folders(synced)
    yield from _states(synced, surroundings, clock)
    yield from _leftovers(synced)
    yield from _tracked(synced)
    yield from _log(synced)


def _settings(synced: Synced, surroundings: Surroundings) -> Iterator[Finding]:
    loaded = settings.load(synced.root, surroundings.config_file)
    for error in loaded.errors:
        what = f"{error.path} is wrong, so the whole file is ignored"
        yield Finding("settings", "wrong", what, error.reason, f"edit {error.path}")
    off = "HOLDFAST_DISABLE is set" if surroundings.disabled else ""
    off = off or ("" if loaded.settings.enabled else "enabled = false stands in the settings")
    if off:
        yield Finding("settings", "note", "Holdfast is switched off", off, "take that out")
    elif not loaded.errors:
        yield Finding("settings", "good", "valid")


def _folders(synced: Synced) -> Iterator[Finding]:
    """Folders that hooks and commands write to, and the files in them."""
    store = synced.place.store
    wanted = [store.private, *(store.root / folder for each in FORMATS for folder in each.folders)]
    if synced.state_dir:
        wanted.append(Path(synced.state_dir))
    found = False
    for folder in dict.fromkeys(_nearest(each) for each in wanted):
        for path in (folder, *_inside(folder, wanted)):
            trouble = _not_writable(path)
            if trouble:
                found = True
                fix = f"chmod u+w {shlex.quote(str(path))}"
                yield Finding("folders", "wrong", f"{path} cannot be written to", trouble, fix)
    if not found:
        yield Finding("folders", "good", "writable")


def _nearest(folder: Path) -> Path:
    """*folder*, or what it would be made in."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _inside(folder: Path, wanted: list[Path]) -> Iterator[Path]:
    if folder in wanted and folder.is_dir():
        yield from sorted(each for each in folder.iterdir() if each.is_dir())


def _not_writable(path: Path) -> str:
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder"
    # The mode is looked at as well: to the superuser everything is writable.
    if not os.access(path, os.W_OK | os.X_OK) or not status.st_mode & stat.S_IWUSR:
        return f"its mode is {stat.S_IMODE(status.st_mode):04o}, or its file system is read-only"
    return ""


def _states(synced: Synced, surroundings: Surroundings, clock: Clock) -> Iterator[Finding]:
    """Every state file, as strictly as its document asks."""
    store, count, wrong = synced.place.store, 0, False
    for each in FORMATS:
        for path in each.paths(store.root):
            count += 1
            try:
                report = each.inspect(path, read_file(path, LARGEST)[0])
                problems = report.problems if report else ()
            except StateUnreadable as error:
                problems = (error.reason,)
            if problems:
                wrong = True
                what = f"{store.relative(path)} is not valid"
                cause = one_line("; ".join(problems), 400)
                repair = partial(_save, surroundings, clock)
                yield Finding("state", "wrong", what, cause, FIX, repair)
    if not wrong:
        yield Finding("state", "good", f"{count} state file{'' if count == 1 else 's'}, all valid")


def _save(surroundings: Surroundings, clock: Clock) -> str:
    """What a hook would do: what cannot be read is set aside, and the last good copy comes back."""
    here = surroundings
    synced = sync.run(here.cwd, here.session, here, clock, wait=COMMAND_WAIT)
    if synced.failure:
        raise synced.failure
    return "what could not be read is in .claude/holdfast/quarantine; the last good copy is used"


def _leftovers(synced: Synced) -> Iterator[Finding]:
    """What nobody has put an end to."""
    for each in synced.workflows:
        if not each.left_over:
            continue
        name = shlex.quote(each.name)
        what, fix = (
            f"{each.name!r} is {each.standing}, and still there",
            f"{each.briefing.ended_with} {name}",
        )
        if each.standing == "stale":
            yield Finding(
                "left over", "note", what, each.remark, f"{fix}, or holdfast resume {name}"
            )
        else:
            repair = partial(_complete, synced, each)
            yield Finding("left over", "note", what, each.remark, fix, repair)


def _complete(synced: Synced, workflow: Workflow) -> str:
    return format_of(workflow).complete(synced.place, workflow)[0]


def _tracked(synced: Synced) -> Iterator[Finding]:
    """State is one person's; git must not carry it to the others."""
    folders = {
        path.parent for each in FORMATS if each.personal for path in each.paths(synced.place.root)
    }
    shown = [folder for folder in sorted(folders) if git.would_pick_up(str(folder))]
    for top in dict.fromkeys(_to_ignore(synced.place.store.relative(each)) for each in shown):
        what, cause = f"git does not ignore {top}/", "the state in it is yours alone"
        yield Finding("git", "note", what, cause, f"echo '{top}/' >> .gitignore")


def _to_ignore(folder: str) -> str:
    """The top of *folder*; in .claude/ a team's settings lie as well, so there the next one."""
    parts = folder.split("/")
    return "/".join(parts[: 2 if parts[0] == ".claude" else 1])


def _log(synced: Synced) -> Iterator[Finding]:
    runs = list(hooklog.read(synced.state_dir, synced.root))[-_LAST_RUNS:]
    failed = [each for each in runs if str(each.get("decided")).startswith("failed")]
    if failed:
        last = failed[-1]
        what = f"{len(failed)} of the last {len(runs)} hooks here failed"
        cause = one_line(f"{last.get('event')} at {last.get('at')}: {last.get('decided')}", 300)
        yield Finding("log", "note", what, cause, "holdfast log")
    elif runs:
        yield Finding("log", "good", f"{len(runs)} hooks logged here, none failed")
    else:
        cause = "the first one comes with the next session in this project"
        yield Finding("log", "note", "no hook has run here yet", cause)
