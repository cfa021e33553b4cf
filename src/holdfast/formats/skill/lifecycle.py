"""How a workflow of a skill is begun, and how what has ended is cleaned up: under the lock, and the index follows.

A workflow is a /dev, a /tdd, or any other skill with phases of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

from holdfast.errors import IllegalMove
from holdfast.files.store import COMMAND_WAIT
from holdfast.formats.engine.document import iso_time
from holdfast.formats.engine.loading import Unusable, error_of, untouched
from holdfast.formats.engine.moves import needed
from holdfast.formats.engine.workflow import Place
from holdfast.formats.skill import files
from holdfast.formats.skill.files import StateFile
from holdfast.formats.skill.format import FORMAT
from holdfast.formats.skill.model import EXECUTION, State
from holdfast.formats.skill.moves import PR_CREATED, PULL_REQUEST, enter, record
from holdfast.formats.skill.tasks import COMMIT, new_tasks

_KEPT_WHEN_COMPLETED = timedelta(hours=24)
_SPEC_URL = ".claude/templates/WORKFLOW-STATE-SPEC.md"
_VERIFICATION = "verification"
_CHECKS = ("lint", "test", "security_review", "code_simplifier")
_PHASES = {
    "dev": ("load_feature", "create_branch", EXECUTION, _VERIFICATION, PULL_REQUEST),
    "tdd": ("red", "green", "refactor", COMMIT),
}
_CHECKPOINTS: dict[str, tuple[str, ...]] = {
    "lint": ("last_run", "passed"),
    "test": ("last_run", "passed", "count"),
    "security_review": ("last_run", "findings"),
    "code_simplifier": ("last_run", "issues"),
    PR_CREATED: ("pr_number", "pr_url"),
}


class Beginning(NamedTuple):
    skill: str
    text: str  # the file or folder of a /dev, the task of any other
    tasks: Sequence[str] = ()
    # Of a /dev: else the title is made of the file's name; the features of a folder, where it is one.
    title: str | None = None
    folder_features: Sequence[str] | None = None
    # Of a /tdd: the feature that its task belongs to, and the task's number in the /dev of that.
    feature_file: str | None = None
    task_index: int | None = None
    test_command: str | None = None
    # Of any other skill, in their order.
    phases: Sequence[str] = ()
    checkpoints: Sequence[str] = ()

    @property
    def named_by(self) -> str:
        """What the name of its file comes from: of a /tdd in a feature, from that."""
        return self.feature_file or self.text


class Started(NamedTuple):
    file: StateFile
    removed: list[tuple[str, str]]  # by the cleanup that goes with a start, and why
    aside: str | None  # where a state that could not be read was put


_Due: TypeAlias = tuple[StateFile | Unusable, str]  # what is to go, and why


def start(
    place: Place, beginning: Beginning, called: str | None = None, *, afresh: bool = False
) -> Started:
    """Begin a workflow; *called* is a name of its own for a second one of the same text.

    With *afresh*, one that is there gives way.
    """
    store = place.store
    path = files.path_for(store, beginning.skill, beginning.named_by, called)
    removed = clean(place)
    with FORMAT.locked(place):
        taken = existing(place, beginning, called)
        if not afresh:
            _refuse_taken(place, path, taken)
        path = taken.path if taken else path
        state = first_state(beginning, path.stem, iso_time(place.now), place.branch)
        aside = FORMAT.make_way(place, path, is_replaced=True)
        for folder in FORMAT.folders:
            store.make_folder(place.root / folder)
        file = FORMAT.put(place, path, state)
        if FORMAT.look(place).ended_as(file):  # in the same second, or on a day without a time
            FORMAT.make_way(place, place.root / files.COMPLETED / path.name)
        FORMAT.update_index(place)
    return Started(file, removed, aside)


def existing(place: Place, beginning: Beginning, called: str | None = None) -> StateFile | None:
    """The one that is worked on where this one would be, or else the latest of the same feature."""
    path = files.path_for(place.store, beginning.skill, beginning.named_by, called)
    live = FORMAT.look(place).live
    same = [
        file
        for file in live
        if called is None and file.state.skill == beginning.skill
        if file.state.context.task_index == beginning.task_index
        if files.is_about(file, place.root, beginning.named_by)
    ]
    there = [file for file in live if file.path == path]
    return max(there or same, key=lambda file: file.changed_at, default=None)


def _refuse_taken(place: Place, path: Path, taken: StateFile | None) -> None:
    """One that is worked on does not give way, and neither does one with a slip of the pen."""
    for lost in FORMAT.look(place).unusable:
        if lost.path == path and lost.kind == "wrong":
            raise error_of(lost)
    if taken:
        phase = taken.state.phase
        where = f", in phase {phase.name!r}" if phase else ""
        raise IllegalMove(
            f"{taken.name!r} is kept already in {place.store.relative(taken.path)}{where}",
            hint="Continue it: holdfast skill resume. For a second one, such as another task of "
            "the same feature, give --as NAME. "
            "To replace it, give --fresh.",
        )


# Cleaning up.


def clean(
    place: Place, *, dry_run: bool = False, everything: bool = False
) -> list[tuple[str, str]]:
    """Remove what ended a day ago, and what nobody has touched for as many days as are set.

    With *everything*, every state of a skill goes, active and completed; foreign files stay. Returns what
    goes, relative to the root, and why.
    """
    with contextlib.nullcontext() if dry_run else place.store.lock(COMMAND_WAIT):
        due = list(_all(place) if everything else _due(place))
        if not dry_run:
            for file, _ in due:
                if isinstance(file, StateFile) and not (file.problems or file.state.over):
                    place.store.archive(file.path.name, place.stamp, file.state.encode())
                FORMAT.take_away(place, file)
            FORMAT.update_index(place)
    return [(place.store.relative(file.path), why) for file, why in due]


def _due(place: Place) -> Iterator[_Due]:
    """A left-over goes with its twin in completed/; without that it would be taken for work."""
    found = FORMAT.look(place)
    stay = {FORMAT.key_of(lost.path) for lost in found.unusable}
    stay |= {file.key for file in found.active if file.problems or file.odd}
    for file in found.entries:
        twin = found.ended_as(file)
        left_over = ("finished", found.left_over(file))
        standing, remark = left_over if twin else FORMAT.standing(place, file)
        late = untouched(twin or file, place) > _KEPT_WHEN_COMPLETED
        is_due = standing == "stale" or (standing == "finished" and late)
        if is_due and not file.problems and file.key not in stay:
            yield file, remark


def _all(place: Place) -> Iterator[_Due]:
    found = FORMAT.look(place)
    yield from ((file, file.state.workflow.status) for file in found.entries)
    yield from ((lost, lost.reason) for lost in found.unusable if lost.is_ours)


def first_state(beginning: Beginning, identifier: str, at: str, branch: str | None) -> State:
    """The state with its first phase begun."""
    skill = beginning.skill
    names = _PHASES.get(skill) or _names(beginning.phases)
    phases: list[dict[str, Any]] = [{"name": name, "status": "pending"} for name in names]
    if skill == "dev":
        phases[names.index(_VERIFICATION)]["steps"] = [*_CHECKS]
    cycle = {"cycle_count": 1} if skill == "tdd" else {}
    data: dict[str, Any] = {
        "_schema": {"version": "1.0", "skill": skill, "spec_url": _SPEC_URL},
        "workflow": {
            "id": identifier,
            "status": "in_progress",
            "created_at": at,
            "updated_at": at,
            "branch": branch,
        },
        "context": _context(beginning),
        "state_machine": {"current_phase": None, **cycle, "phases": phases},
    }
    if beginning.tasks or skill == "dev":
        tasks = new_tasks(beginning.tasks)
        data["tasks"] = [task.model_dump(exclude_unset=True) for task in tasks]
    if skill == "tdd":
        tests = {"test_command": beginning.test_command, "last_run": None, "last_result": None}
        data["test_state"] = {**tests, "failing_tests": [], "passing_tests": []}
        data["files_modified"] = []
    else:
        others = dict.fromkeys(beginning.checkpoints, ("last_run",))
        checkpoints = _CHECKPOINTS if skill == "dev" else others
        data["checkpoints"] = {
            name: {"status": "pending", **dict.fromkeys(fields)}
            for name, fields in checkpoints.items()
        }
    state = State.of_json({**data, "history": []})  # it comes last, for people who read it
    record(state, at, "workflow_started", task=beginning.text if skill == "tdd" else None)
    enter(state, state.state_machine.phases[0], at)
    return State.of_json(state.to_json())


def _names(phases: Sequence[str]) -> list[str]:
    names = [needed(name, "a phase's name") for name in phases]
    if not names or len(set(names)) < len(names):
        raise IllegalMove(
            "this skill needs phases with distinct names",
            hint='Give them in their order: --phases "design,build,test"',
        )
    return names


def _context(beginning: Beginning) -> dict[str, Any]:
    text, features = beginning.text, beginning.folder_features
    if beginning.skill != "dev":
        given = {"feature_file": beginning.feature_file, "task_index": beginning.task_index}
        known = {name: value for name, value in given.items() if value is not None}
        return {"task_description": text, **known}
    is_folder = features is not None
    return {
        "feature_file": (*(features or ()), None)[0] if is_folder else text,
        "feature_title": beginning.title or _title(text),
        "folder_mode": is_folder,
        "folder_path": text if is_folder else None,
        "folder_features": list(features or ()),
    }


def _title(path: str) -> str:
    """features/user-login.md: User Login."""
    words = PurePosixPath(path).stem.replace("_", " ").replace("-", " ").split()
    return " ".join(word[:1].upper() + word[1:] for word in words) or path
