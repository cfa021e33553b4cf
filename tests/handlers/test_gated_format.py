"""A whole feature of gated development by commands, with a compaction after every single one."""

from __future__ import annotations

from typing import NamedTuple

from gatedwork import FOLDER, NAMES, URL
from holdfast.testing import Compactions, Project

TITLES = ("Requirements", "Architecture", "Implementation", "Testing", "Documentation")


class After(NamedTuple):
    """A command, and where the feature stands after it."""

    command: tuple[str, ...]
    phase: int
    status: str
    iteration: int
    turn: str
    feedback: str = ""
    escalation: str = ""
    reviewed: int = 0  # reviews of the phase
    pull_request: bool = True


def approved(phase: int) -> list[After]:
    """A phase without any complaint."""
    return [
        After(("submit",), phase, "in review", 1, "reviewer"),
        After(("approve-internal", "good"), phase, "user review", 1, "human", reviewed=1),
        After(("approve",), min(phase + 1, 5), "approved" if phase == 5 else "in progress",
              1 if phase == 5 else 0, "nobody" if phase == 5 else "creator",
              reviewed=1 if phase == 5 else 0),
    ]  # fmt: skip


# Two revisions, an escalation because the fourth review was no better, one regression.
RUN = [
    After(("submit",), 1, "in review", 1, "reviewer", pull_request=False),
    After(("revise", "no errors"), 1, "in progress", 2, "creator", "no errors", reviewed=1, pull_request=False),
    After(("submit",), 1, "in review", 2, "reviewer", "no errors", reviewed=1, pull_request=False),
    After(("approve-internal", "good", "--pr", URL), 1, "user review", 2, "human", reviewed=2),
    After(("request-changes", "say offline"), 1, "in progress", 2, "creator", "say offline", reviewed=2),
    After(("submit",), 1, "in review", 2, "reviewer", "say offline", reviewed=2),
    After(("approve-internal", "good"), 1, "user review", 2, "human", reviewed=3),
    After(("approve",), 2, "in progress", 0, "creator"),
    After(("submit",), 2, "in review", 1, "reviewer"),
    After(("revise", "too big"), 2, "in progress", 2, "creator", "too big", reviewed=1),
    After(("submit",), 2, "in review", 2, "reviewer", "too big", reviewed=1),
    After(("revise", "still too big"), 2, "in progress", 3, "creator", "still too big", reviewed=2),
    After(("submit",), 2, "in review", 3, "reviewer", "still too big", reviewed=2),
    After(("revise", "no smaller"), 2, "in progress", 4, "creator", "no smaller", reviewed=3),
    After(("submit",), 2, "in review", 4, "reviewer", "no smaller", reviewed=3),
    After(("revise", "never"), 2, "escalated", 4, "human", "never", "maximum of 4 iterations reached", reviewed=4),
    After(("guide", "split it"), 2, "in progress", 4, "creator", "split it", reviewed=4),
    After(("submit",), 2, "in review", 4, "reviewer", "split it", reviewed=4),
    After(("approve-internal", "good"), 2, "user review", 4, "human", reviewed=5),
    After(("regress", NAMES[0], "split that, too"), 1, "in progress", 2, "creator", "split that, too", reviewed=3),
    After(("submit",), 1, "in review", 2, "reviewer", "split that, too", reviewed=3),
    After(("approve-internal", "good"), 1, "user review", 2, "human", reviewed=4),
    After(("approve",), 2, "in progress", 0, "creator", reviewed=5),
    After(("submit",), 2, "in review", 1, "reviewer", reviewed=5),
    After(("approve-internal", "good"), 2, "user review", 1, "human", reviewed=6),
    After(("approve",), 3, "in progress", 0, "creator"),
    *(after for phase in (3, 4, 5) for after in approved(phase)),
]  # fmt: skip

DOCS = {
    "features.md": b"# Features\r\n",
    "requirements.md": b"# Requirements\n",
    "architecture.md": b"# Architecture\n",
    "diagrams/flow.png": b"\x89PNG\x00\xff",
    "user-guide.md": b"# Guide\n",
    "api-reference.md": "# API für alle\n".encode(),
}
WORKSPACE = {
    "features.md": "00-feature/features.md",
    "requirements.md": "01-requirements/requirements.md",
    "architecture.md": "02-architecture/architecture.md",
    "diagrams/flow.png": "02-architecture/diagrams/flow.png",
    "user-guide.md": "05-documentation/user-docs.md",
    "api-reference.md": "05-documentation/api-docs.md",
}


def gate(project: Project, *arguments: str) -> str:
    return project.run("gate", *arguments, session="session-1").stdout


def context_lines(guidance: str) -> dict[str, str]:
    section = guidance.partition("\n## Context\n")[2].partition("\n\n")[0]
    lines = (line.removeprefix("- ").partition(": ") for line in section.splitlines())
    return {name: fact for name, _, fact in lines}


def test_a_feature_from_its_start_to_the_published_docs(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Where it stands, whose turn it is and what is to be read is told right after each command."""
    project = holdfast_project
    for name, data in DOCS.items():
        path = project.root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    gate(project, "start", "user-auth", "--title", "User Auth", "--description", "words of it")
    begun = After(("start",), 1, "in progress", 0, "creator", pull_request=False)
    check(begun, compaction_cycle)
    for after in RUN:
        gate(project, *after.command)
        check(after, compaction_cycle)
    gate(project, "validate")
    changed = {name: data + b"\nchanged by the feature \xc3\xa9\x00" for name, data in DOCS.items()}
    for name, data in changed.items():
        (project.root / FOLDER / WORKSPACE[name]).write_bytes(data)
    gate(project, "complete")
    assert "is completed" not in compaction_cycle().guidance
    gate(project, "finalize")
    docs = project.root / "docs"
    assert {
        path.relative_to(docs).as_posix(): path.read_bytes()
        for path in docs.rglob("*")
        if path.is_file()
    } == changed
    assert not (project.root / FOLDER).exists()
    assert compaction_cycle().guidance == ""


def check(after: After, compaction_cycle: Compactions) -> None:
    cycle, command = compaction_cycle(), after.command
    head = f'The workflow "User Auth" (type gated) is in phase {after.phase} of 5: '
    assert f"{head}{TITLES[after.phase - 1]}. Status: {after.status}." in cycle.guidance, command
    told = context_lines(cycle.guidance)
    assert told["iteration"] == f"{after.iteration} of 4", command
    assert told["whose turn"] == after.turn, command
    # Guidance stands before the feedback that is still open.
    assert told.get("current feedback", "").startswith(after.feedback), command
    assert bool(after.feedback) == ("current feedback" in told), command
    assert told.get("open escalation", "") == after.escalation, command
    assert ("PR #7" in told.get("pull request", "")) == after.pull_request, command
    assert f"phase {after.phase} of 5" in cycle.note, command
    folder = f"@{FOLDER}/{NAMES[after.phase - 1]}"
    reading = [line for line in cycle.guidance.splitlines() if line.startswith("@")]
    assert reading[0].startswith(f"@{FOLDER}/00-feature/description.md (sent"), command
    last = f"{folder}/reviews/review-{after.reviewed}.md (sent"
    assert any(line.startswith(last) for line in reading) == bool(after.reviewed), command
    assert sum("/reviews/" in line for line in reading) <= 1, command
    assert "words of it" in "".join(cycle.reading), command
