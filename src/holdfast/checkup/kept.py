"""What is kept for the project: settings, folders that must be writable, states, what is left over."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from holdfast import git, hooklog, restore, settings
from holdfast.checkup.finding import Finding
from holdfast.errors import StateOutOfReach, StateUnreadable
from holdfast.formats.base import Format, Report, Workflow
from holdfast.formats.registry import every, format_of
from holdfast.formats.signs import DECLARING, STATE_FILES
from holdfast.plaintext import one_line
from holdfast.project import Surroundings
from holdfast.regular import entries, read_file
from holdfast.store import LARGEST
from holdfast.sync import Synced

_LAST_RUNS = 50
FIX = "holdfast doctor --fix"
_CLIENTS = ".claude"  # has folders that are nobody's states


def examine(synced: Synced, surroundings: Surroundings) -> Iterator[Finding]:
    """All that lies in the project and in the user's folder."""
    yield from _settings(synced, surroundings)
    yield from _folders(synced)
    yield from _states(synced)
    yield _workflow(synced)
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
    wanted = [store.private, *(store.root / folder for each in every() for folder in each.folders)]
    if synced.state_dir:
        wanted.append(Path(synced.state_dir))
    found = False
    for folder in dict.fromkeys(_nearest(each) for each in wanted):
        for path in (folder, *_inside(folder, wanted)):
            trouble = _not_writable(path)
            if trouble:
                found = True
                yield Finding("folders", "wrong", f"{path} cannot be written to", *trouble)
    if not found:
        yield Finding("folders", "good", "writable")


def _nearest(folder: Path) -> Path:
    """*folder*, or what it would be made in."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _inside(folder: Path, wanted: list[Path]) -> Iterator[Path]:
    if folder in wanted and folder.is_dir() and folder.name != _CLIENTS:
        with contextlib.suppress(StateOutOfReach):  # which `_states` tells
            yield from sorted(Path(each.path) for each in entries(folder) if each.is_dir())


def _not_writable(path: Path) -> tuple[str, str] | None:
    """Why, and what helps."""
    name = shlex.quote(str(path))
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror or str(error), f"ls -ld {name}"
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder", f"mv {name} {name}.aside"
    # The mode is looked at as well: to the superuser everything is writable.
    if not status.st_mode & stat.S_IWUSR:
        return f"its mode is {stat.S_IMODE(status.st_mode):04o}", f"chmod u+w {name}"
    if not os.access(path, os.W_OK | os.X_OK):
        return "it is another user's, or its file system is read-only", f"ls -ld {name}; df {name}"
    return None


def _states(synced: Synced) -> Iterator[Finding]:
    """Every state file, as strictly as its document asks."""
    store, count, wrong = synced.place.store, 0, False
    for each in every():
        try:
            paths = each.paths(store.root)
        except StateOutOfReach as error:
            wrong = True
            name = shlex.quote(str(error.path))
            what = f"{error.path} cannot be read"
            yield Finding("state", "wrong", what, error.reason, f"ls -ld {name}; df {name}")
            continue
        for path in paths:
            count += 1
            report = _report(each, path)
            if report.newer:
                yield Finding(
                    "state", "note", f"{store.relative(path)} is left alone", report.newer
                )
            elif report.problems:
                wrong = True
                what = f"{store.relative(path)} is not valid"
                cause = one_line("; ".join(report.problems), 400)
                yield Finding("state", "wrong", what, cause, FIX, safe=True)
    if not wrong:
        yield Finding("state", "good", f"{count} state file{'' if count == 1 else 's'}, all valid")


def _report(form: Format, path: Path) -> Report:
    try:
        return form.inspect(path, read_file(path, LARGEST)[0]) or Report(form.name)
    except StateUnreadable as error:
        return Report(form.name, (error.reason,))


def _workflow(synced: Synced) -> Finding:
    choice = synced.choice()
    if choice.chosen:
        return Finding("workflow", "good", f"{restore.in_brief(choice.chosen)}: {choice.why}")
    return Finding("workflow", "note", "none to restore here", choice.why, "holdfast why")


def _leftovers(synced: Synced) -> Iterator[Finding]:
    """What nobody has put an end to."""
    for each in synced.workflows:
        if not each.left_over:
            continue
        name = shlex.quote(each.name)
        what = f"{each.name!r} is {each.standing}, and still there"
        fix = each.cleared_with or f"{each.briefing.ended_with} {name}"
        if each.standing == "stale":
            yield Finding(
                "left over", "note", what, each.remark, f"{fix}, or holdfast resume {name}"
            )
        else:
            safe = _is_simply_ended(each)
            yield Finding("left over", "note", what, each.remark, fix, safe=safe)


def _is_simply_ended(workflow: Workflow) -> bool:
    """Whether to end it is all that is left to be done; else a person has to decide."""
    return workflow.standing == "finished" and not workflow.cleared_with


def repaired(synced: Synced) -> Iterator[str]:
    """End what is finished. What cannot be read was set aside when *synced* was saved."""
    yield from synced.notes
    for each in synced.workflows:
        if each.left_over and _is_simply_ended(each):
            yield format_of(each).complete(synced.place, each)[0]


def _tracked(synced: Synced) -> Iterator[Finding]:
    """What is one person's; git must not carry it to the others."""
    store = synced.place.store
    states = []
    for each in (each for each in every() if each.personal):
        with contextlib.suppress(StateOutOfReach):  # which `_states` tells
            states += each.paths(store.root)
    declaring = [store.root / name for name in DECLARING if (store.root / name).is_file()]
    seen = [path for path in (*states, *declaring) if git.would_pick_up(str(path))]
    # A folder that is ours alone is ignored as a whole.
    for name in dict.fromkeys(_to_ignore(store.relative(path)) for path in seen):
        what, cause = f"git does not ignore {name}", "what is in it is yours alone"
        yield Finding("git", "note", what, cause, f"echo '{name}' >> .gitignore")


def _to_ignore(path: str) -> str:
    """The top folder that it is in, or all files of its kind; in .claude/ a team's settings lie as well."""
    above = ".claude/" if path.startswith(".claude/") else ""
    first, sign, _ = path.removeprefix(above).partition("/")
    name = above + first + sign
    kinds = (pattern for each in STATE_FILES.values() for pattern in each)
    return next((pattern for pattern in kinds if fnmatchcase(name, pattern)), name)


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
