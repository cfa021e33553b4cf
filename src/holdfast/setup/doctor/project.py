"""What is kept for the project: settings, folders that must be writable, states, what is left over.

And what reached the model after the last compaction, as the transcript of a session tells it.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from holdfast.clock import local
from holdfast.config import settings
from holdfast.config.project import Surroundings
from holdfast.errors import HoldfastError, NoSuchWorkflow, StateOutOfReach, StateUnreadable
from holdfast.files import git
from holdfast.files.regular import entries, read_file
from holdfast.files.store import LARGEST
from holdfast.formats.engine.workflow import Report, Workflow
from holdfast.formats.registry import GENERAL, every, format_of
from holdfast.formats.signs import DECLARING, STATE_FILES
from holdfast.records import hooklog
from holdfast.restoring import arrived, restore
from holdfast.restoring.arrived import Compaction, Piece
from holdfast.setup.doctor import Finding
from holdfast.text.plaintext import counted, one_line
from holdfast.workflows.sync import ProjectView, way_on

_LAST_RUNS = 50
FIX = "holdfast doctor --fix"
DETAILS = "holdfast doctor --delivery"
_OTHER_TRANSCRIPT = f"Name the transcript of a session: {DETAILS} --transcript FILE"
_CLIENTS = ".claude"  # has folders that are nobody's states


def examine(view: ProjectView, surroundings: Surroundings) -> Iterator[Finding]:
    """All that lies in the project and in the user's folder."""
    yield from _settings(view, surroundings)
    yield from _folders(view)
    yield from _states(view)
    yield _workflow(view)
    yield from _candidates(view)
    yield from _leftovers(view)
    yield from _tracked(view)
    yield from _log(view)


def _settings(view: ProjectView, surroundings: Surroundings) -> Iterator[Finding]:
    loaded = settings.load(view.root, surroundings.config_file)
    for error in loaded.errors:
        what = f"{error.path} is wrong, so the whole file is ignored"
        yield Finding("settings", "wrong", what, error.reason, f"edit {error.path}")
    if off := view.place.off:
        yield Finding("settings", "note", "Holdfast is switched off", off, "take that out")
    elif not loaded.errors:
        yield Finding("settings", "good", "valid")


def _folders(view: ProjectView) -> Iterator[Finding]:
    """Folders that hooks and commands write to, and the files in them."""
    store = view.place.store
    wanted = [store.private, *(store.root / folder for form in every() for folder in form.folders)]
    if view.state_dir:
        wanted.append(Path(view.state_dir))
    found = [
        Finding("folders", "wrong", f"{path} cannot be written to", *trouble)
        for folder in dict.fromkeys(map(_nearest, wanted))
        for path in (folder, *_inside(folder, wanted))
        if (trouble := _not_writable(path))
    ]
    yield from found or [Finding("folders", "good", "writable")]


def _nearest(folder: Path) -> Path:
    """*folder*, or what it would be made in."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _inside(folder: Path, wanted: list[Path]) -> Iterator[Path]:
    if folder in wanted and folder.is_dir() and folder.name != _CLIENTS:
        with contextlib.suppress(StateOutOfReach):  # which `_states` tells
            yield from sorted(Path(entry.path) for entry in entries(folder) if entry.is_dir())


def _not_writable(path: Path) -> tuple[str, str] | None:
    """Why, and what helps."""
    name = shlex.quote(str(path))
    try:
        status = path.stat()
    except OSError as error:
        return error.strerror or str(error), f"ls -ld {name}"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a folder", f"mv {name} {name}.aside"
    # The mode is looked at as well: to the superuser everything is writable.
    if not status.st_mode & stat.S_IWUSR:
        return f"its mode is {stat.S_IMODE(status.st_mode):04o}", f"chmod u+w {name}"
    if not os.access(path, os.W_OK | os.X_OK):
        return "it is another user's, or its file system is read-only", f"ls -ld {name}; df {name}"
    return None


def _states(view: ProjectView) -> Iterator[Finding]:
    """Every state file, as strictly as its document asks."""
    store, count, wrong = view.place.store, 0, False
    for form in every():
        try:
            paths = form.paths(store)
        except StateOutOfReach as error:
            wrong, name = True, shlex.quote(str(error.path))
            what, fix = f"{error.path} cannot be read", f"ls -ld {name}; df {name}"
            yield Finding("state", "wrong", what, error.reason, fix)
            continue
        for path in paths:
            count += 1
            name = store.relative(path)
            try:
                report = form.inspect(path, read_file(path, LARGEST)[0]) or Report(form.name)
            except StateUnreadable as error:
                report = Report(form.name, (error.reason,))
            if report.newer:
                yield Finding("state", "note", f"{name} is left alone", report.newer)
            elif report.problems:
                wrong, cause = True, one_line("; ".join(report.problems), 400)
                # Only a canonical state that is not JSON is replaced by its last good copy.
                safe = form.name == GENERAL and cause.startswith("not JSON")
                fix = FIX if safe else f"correct it, then holdfast inspect {shlex.quote(name)}"
                yield Finding("state", "wrong", f"{name} is not valid", cause, fix, safe=safe)
    if not wrong:
        yield Finding("state", "good", f"{counted(count, 'state file')}, all valid")


def _workflow(view: ProjectView) -> Finding:
    choice = view.choice()
    if choice.chosen:
        return Finding("workflow", "good", f"{restore.in_brief(choice.chosen)}: {choice.why}")
    fix = "holdfast why" if view.candidates else way_on(view)
    return Finding("workflow", "note", "none to restore here", choice.why, fix)


def _candidates(view: ProjectView) -> Iterator[Finding]:
    """Plans that nobody follows."""
    for plan in view.candidates:
        fix = shlex.join(["holdfast", "follow", plan.path])
        what = f"{plan.path} looks like a plan and is not followed"
        yield Finding("plan", "note", what, plan.why, f"{fix}, or unfollow to hear no more of it")


def _leftovers(view: ProjectView) -> Iterator[Finding]:
    """What nobody has put an end to."""
    for workflow in view.workflows:
        if not workflow.left_over:
            continue
        name = shlex.quote(workflow.name)
        what = f"{workflow.name!r} is {workflow.standing}, and still there"
        fix = workflow.closed_with
        if workflow.standing == "stale":
            fix = f"{fix}, or holdfast resume {name}"
        safe = _is_simply_ended(workflow)
        yield Finding("left over", "note", what, workflow.remark, fix, safe=safe)


def _is_simply_ended(workflow: Workflow) -> bool:
    """Whether to end it is all that is left to be done; else a person has to decide."""
    return workflow.standing == "finished" and not workflow.cleared_with


def repaired(view: ProjectView) -> Iterator[str]:
    """End what is finished. What cannot be read was set aside when *view* was saved."""
    yield from view.notes
    for workflow in view.workflows:
        if workflow.left_over and _is_simply_ended(workflow):
            yield format_of(workflow).complete(view.place, workflow)[0]


def _tracked(view: ProjectView) -> Iterator[Finding]:
    """What is one person's; git must not carry it to the others."""
    store = view.place.store
    states: list[Path] = []
    for form in every():
        with contextlib.suppress(StateOutOfReach):  # which `_states` tells
            states += form.paths(store) if form.personal else []
    declaring = [store.root / name for name in DECLARING if (store.root / name).is_file()]
    seen = [path for path in (*states, *declaring) if git.would_pick_up(str(path))]
    # A folder that is ours alone is ignored as a whole.
    for name in dict.fromkeys(_to_ignore(store.relative(path)) for path in seen):
        what, cause = f"git does not ignore {name}", "it belongs to you alone"
        yield Finding("git", "note", what, cause, f"echo '{name}' >> .gitignore")


def _to_ignore(path: str) -> str:
    """The top folder that it is in, or all files of its kind; in .claude/ a team's settings lie as well."""
    above = ".claude/" if path.startswith(".claude/") else ""
    first, sign, _ = path.removeprefix(above).partition("/")
    name = above + first + sign
    kinds = (kind for patterns in STATE_FILES.values() for kind in patterns)
    return next((kind for kind in kinds if fnmatchcase(name, kind)), name)


def _log(view: ProjectView) -> Iterator[Finding]:
    runs = list(hooklog.read(view.state_dir, view.root))[-_LAST_RUNS:]
    failed = [run for run in runs if str(run.get("decided")).startswith("failed")]
    if failed:
        last = failed[-1]
        what = f"{len(failed)} of the last {len(runs)} hooks here failed"
        cause = one_line(f"{last.get('event')} at {last.get('at')}: {last.get('decided')}", 300)
        yield Finding("log", "note", what, cause, "holdfast log --hooks")
    elif runs:
        yield Finding("log", "good", f"{counted(len(runs), 'hook')} logged here, none failed")
    else:
        cause = "the first one comes with the next session in this project"
        yield Finding("log", "note", "no hook has run here yet", cause)


# Delivery.


class Delivered(NamedTuple):
    """The last compaction, and what became of each piece that was due after it."""

    transcript: Path
    compaction: Compaction
    pieces: list[Piece]
    nothing_due: str  # why nothing was to be restored; empty when something was

    @property
    def whole(self) -> bool:
        return all(piece.became == "arrived" for piece in self.pieces)


def delivered(view: ProjectView, file: Path | None = None) -> Delivered:
    """Read the transcript *file*, else that of this session, or of the last one here that shows a compaction."""
    found = ((path, _last_compaction(path)) for path in ([file] if file else _transcripts(view)))
    path, compaction = next((pair for pair in found if pair[1]), (None, None))
    if path is None or compaction is None:
        nowhere = f"no known session of {view.root} shows a compaction"
        cause = f"{file} shows no compaction" if file else nowhere
        raise NoSuchWorkflow(cause, hint=_OTHER_TRANSCRIPT)
    pieces = arrived.pieces(compaction)
    nothing = _nothing_due(view, path) if pieces[0].became == "missing" else ""
    return Delivered(path, compaction, [] if nothing else pieces, nothing)


def _last_compaction(path: Path) -> Compaction | None:
    try:
        return arrived.last_compaction(path)
    except StateUnreadable as error:
        raise HoldfastError(error.cause, hint=_OTHER_TRANSCRIPT) from error


def examine_delivery(view: ProjectView) -> Iterator[Finding]:
    """The delivery after the last compaction as one finding; none if no compaction is known."""
    try:
        found = delivered(view)
    except HoldfastError as error:
        yield Finding("delivery", "note", "not known", error.cause)
        return
    when = f"after the compaction of {local(found.compaction.at)}"
    wrong = [f"{part.what} {part.became}" for part in found.pieces if part.became != "arrived"]
    if wrong:
        what = f"not all reached the model {when}"
        yield Finding("delivery", "wrong", what, ", ".join(wrong), DETAILS)
    elif found.nothing_due:
        yield Finding("delivery", "good", f"nothing was due {when}: {found.nothing_due}")
    else:
        parts = counted(len(found.pieces) - 1, "part")
        yield Finding("delivery", "good", f"guidance and {parts} arrived {when}")


def _nothing_due(view: ProjectView, path: Path) -> str:
    """Why nothing was to be restored at the last compaction that *path* tells of, if so."""
    for record in reversed([*hooklog.read(view.state_dir, view.root)]):
        if (record.get("transcript"), record.get("source")) == (str(path), "compact"):
            decided = str(record.get("decided"))
            return "" if decided.startswith(("restored", "failed")) else decided
    choice = view.choice()
    return "" if choice.chosen else choice.why


def _transcripts(view: ProjectView) -> list[Path]:
    """Where compactions may be written down: this session's, then the others', the latest first.

    What a person plays by hand names a transcript that is not there, or one without a compaction.
    """
    found = reversed([*hooklog.read(view.state_dir, view.root)])
    known = [one for one in found if Path(str(one.get("transcript") or "")).is_file()]
    own = [record for record in known if view.session and record.get("session") == view.session]
    compacted = [record for record in (*own, *known) if record.get("source") == "compact"]
    every = (*compacted, *own, *known)
    return list(dict.fromkeys(Path(str(record["transcript"])) for record in every))
