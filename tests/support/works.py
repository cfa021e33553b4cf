"""Pieces of work of each format, and of our own records, that a process is disturbed in the middle of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from arena import COMPACTED, LATER, PRE_COMPACT, Files, Hook, Step
from holdfast.testing import Project

FEATURE = "features/auth/user-login.md"
_PLAN = """\
# User authentication
## Phase 1: Foundation
- [ ] 1.1 Update the user model
- [ ] 1.2 Implement JWT
## Phase 2: Endpoints
- [ ] 2.1 Create endpoints
"""
_TESTED = {
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -q"},
    "tool_response": {"stdout": "", "stderr": "", "interrupted": False},
}


def _all(documents: Files) -> Files:
    return documents


def _of_skills(documents: Files) -> Files:
    """The index follows the states; what lies in completed/ has ended, whatever is left in active/."""
    states = ".claude/workflow-state"
    ended = {name.replace("/completed/", "/active/") for name in documents if "/completed/" in name}
    return {
        name: data
        for name, data in documents.items()
        if name != f"{states}/index.json" and name not in ended
    }


def _of_pipelines(documents: Files) -> Files:
    """The index and the log follow the states. A name that was taken and not used gets a number."""
    return {
        name.replace("-100000-2", "-100000"): data.replace(b"-100000-2", b"-100000")
        for name, data in documents.items()
        if not name.endswith(("/index.json", ".log"))
    }


class Work(NamedTuple):
    """One step to disturb, and what goes before it; and what of the documents says where it stands."""

    name: str
    step: Step
    before: Sequence[Step]
    counts: Callable[[Files], Files] = _all


def _file(path: str, text: str) -> Callable[[Project], object]:
    return lambda project: project.write(path, text)


def _declared(phase: str, *reminders: str) -> Callable[[Project], object]:
    return lambda project: project.declare(
        "User Auth", phase=phase, reading=("@docs/guide.md",), reminders=reminders
    )


def _words(*lines: str) -> list[list[str]]:
    return [line.split() for line in lines]


def _artefacts(project: Project) -> None:
    for run in sorted((project.root / "workspace/sessions/draft").glob("*runs/*")):
        (run / "plan.md").write_text("# Plan\n", encoding="utf-8")


_GUIDE = _file("docs/guide.md", "# Guide\n")
_CANONICAL: list[Step] = [
    _GUIDE,
    ["start", "User Auth", "--phases", "Design,Build,Ship", "--remind", "Keep it small"],
    ["phase", "next"],
]
_DECLARED: list[Step] = [_GUIDE, _declared("1/3 - Design"), PRE_COMPACT, COMPACTED]
_PLANNED: list[Step] = [
    _file("PLAN.md", _PLAN.replace("\n", "\nStatus: In Progress\n", 1)),
    PRE_COMPACT,
]
_SKILL: list[Step] = [
    ["skill", "start", "dev", FEATURE, "-t", "Add login", "-t", "Add logout"],
    *_words("skill phase complete", "skill phase complete"),
]
_GATED: list[Step] = [
    _file("docs/requirements.md", "# Requirements\n"),
    _file("docs/architecture.md", "# Architecture\n"),
    ["gate", "start", "user-auth", "--title", "User Auth"],
    *_words("gate submit", "gate approve-internal good --pr #7", "gate approve", "gate submit"),
]
_RUN: list[Step] = [
    _file("docs/user-auth.md", _PLAN),
    *_words(
        "orchestrate start docs/user-auth.md",
        "orchestrate approve-plan",
        "orchestrate task-start",
        "orchestrate checkpoint",
    ),
]
_SESSION: list[Step] = [
    *_words(
        "pipeline session create draft",
        "pipeline start generation --scene 0204 --session draft",
        "pipeline start planning --level scene --act 1 --chapter 2 --scene 4 --session draft",
    ),
    _artefacts,
]
_PIPELINE: list[Step] = _words(
    "pipeline start generation --scene 0204", "pipeline update 1 --status completed"
)


WORKS: dict[str, list[Work]] = {
    "canonical": [
        Work("start", ["start", "Other", "--phases", "A,B"], _CANONICAL),
        Work("phase next", ["phase", "next"], _CANONICAL),
        Work("complete", ["complete"], _CANONICAL),
        Work("undo", ["undo"], _CANONICAL),
        Work("done", ["done"], _PLANNED),
        Work("next --tick", ["next", "--tick"], _PLANNED),
        Work("first save", PRE_COMPACT, [_GUIDE, _declared("1/3 - Design")]),
        Work("save", PRE_COMPACT, [*_DECLARED, _declared("2/3 - Build", "New")]),
        Work("save at a start", COMPACTED, [*_DECLARED, _declared("2/3 - Build", "New")]),
    ],
    "skill": [
        Work("start", ["skill", "start", "tdd", "Add logout"], _SKILL, _of_skills),
        Work("task start", ["skill", "task", "start"], _SKILL, _of_skills),
        Work("complete", ["skill", "complete", "--force", "enough"], _SKILL, _of_skills),
        Work("abandon", ["skill", "abandon"], _SKILL, _of_skills),
        Work("fresh", ["skill", "start", "dev", FEATURE, "--fresh"], _SKILL, _of_skills),
        Work("clear", ["skill", "clean", "--all", "--yes"], _SKILL, _of_skills),
    ],
    "gated": [
        Work("start", ["gate", "start", "other", "--title", "Other"], _GATED),
        Work("revise", ["gate", "revise", "no errors"], _GATED),
        Work(
            "revise again",
            ["gate", "revise", "still no errors"],
            [*_GATED, *_words("gate revise errors", "gate submit")],
        ),
        Work("regress", ["gate", "regress", "01-requirements", "offline"], _GATED),
        Work("cancel", ["gate", "cancel"], _GATED),
    ],
    "orchestrator": [
        Work("task-done", ["orchestrate", "task-done", "--cost", "$1"], _RUN),
        Work("learn", ["orchestrate", "learn", "A lesson", "--type", "insight"], _RUN),
        Work("checkpoint", ["orchestrate", "checkpoint"], _RUN),
        Work(
            "restore",
            ["orchestrate", "restore"],
            [*_RUN, ["orchestrate", "task-done"]],
        ),
        Work("archive", ["orchestrate", "archive"], [*_RUN, ["orchestrate", "fail", "stuck"]]),
        Work("lock", ["orchestrate", "lock", "src/a", "--owner", "x"], _RUN),
    ],
    "pipeline": [
        Work(
            "start",
            ["pipeline", "start", "generation", "--scene", "0305"],
            _PIPELINE,
            _of_pipelines,
        ),
        Work(
            "update",
            ["pipeline", "update", "2", "--status", "in_progress"],
            _PIPELINE,
            _of_pipelines,
        ),
        Work("commit", ["pipeline", "session", "commit", "draft"], _SESSION, _of_pipelines),
        Work(
            "cancel", ["pipeline", "session", "cancel", "draft", "--yes"], _SESSION, _of_pipelines
        ),
    ],
    "our own records": [
        Work("restore", COMPACTED, [*_CANONICAL, PRE_COMPACT]),
        Work(
            "counted",
            Hook("PostCompact", {"trigger": "auto", "compact_summary": "The work goes on."}),
            [*_CANONICAL, PRE_COMPACT, COMPACTED],
        ),
        Work("noted", Hook("PostToolUse", _TESTED), [*_CANONICAL, COMPACTED]),
        Work("beside", LATER, [*_CANONICAL, COMPACTED, Hook("PostToolUse", _TESTED)]),
        Work("ignored", ["ignore", "User Auth"], _CANONICAL),
        Work("resumed", ["resume", "User Auth"], [*_CANONICAL, ["complete"]]),
    ],
}


# The beginning of a workflow of each format.
FORMATS: dict[str, Sequence[Step]] = {
    "canonical": _CANONICAL,
    "declared": _DECLARED[:2],
    "skill": _SKILL,
    "gated": _GATED,
    "orchestrator": _RUN,
    "pipeline": _SESSION,
}
