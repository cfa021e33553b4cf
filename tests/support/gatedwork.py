"""What the tests of the gated format share: the document's examples, and a feature to work on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from deadly import ARMED
from holdfast.cli import gate
from holdfast.config.settings import Settings
from holdfast.files.store import Store
from holdfast.formats.engine.format import Changed
from holdfast.formats.engine.workflow import Place
from holdfast.formats.gated import files
from holdfast.formats.gated.format import FORMAT, Move
from holdfast.formats.gated.moves import PullRequest
from holdfast.testing import Project

DOCUMENT = (Path(__file__).parents[1] / "samples" / "gated" / "document.md").read_text("utf-8")
_STATE, _STATUS = (
    json.loads(block) for block in re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)[:2]
)
SLUG = "user-auth"
KEY = f"gated:{SLUG}"
FOLDER = f"workflow/{SLUG}"
NAMES = (
    "01-requirements",
    "02-architecture",
    "03-implementation",
    "04-testing",
    "05-documentation",
)
ALL_FILES = ("workflow-state.json", *(f"{name}/status.json" for name in NAMES))
# `reconcile` is none of the machine's: every move begins with it.
MOVES = {move.words: move.step for move in gate.MOVES if move.words != "reconcile"}
AT = "2026-02-27T10:00:00Z"


def state_example() -> dict[str, Any]:
    return json.loads(json.dumps(_STATE))  # type: ignore[no-any-return]


def status_example() -> dict[str, Any]:
    return json.loads(json.dumps(_STATUS))  # type: ignore[no-any-return]


def blocks(heading: str) -> list[str]:
    """The plain blocks below *heading*."""
    section = re.split(rf"^#+ {re.escape(heading)}\n", DOCUMENT, flags=re.MULTILINE)[1]
    return re.findall(r"^```\n(.*?)\n```", section.split("\n## ")[0], re.DOTALL | re.MULTILINE)


def place(project: Project, *, branch: str | None = None, stale_days: int = 7) -> Place:
    settings = Settings(stale_days=stale_days)
    return Place(Store(project.root), settings, project.clock.now(), branch, branch)


def begin(project: Project, slug: str = SLUG, title: str = "User Auth") -> Place:
    """A feature that has just begun."""
    here = place(project)
    FORMAT.start(here, slug, title=title, description="# User Auth\n")
    return here


# What the text of a move is where a test does not say.
TEXTS = {
    "revise": "better",
    "approve-internal": "good",
    "request-changes": "other",
    "regress": "back",
    "escalate": "stuck",
    "guide": "so",
}
REVIEWED = {"revise", "approve-internal"}


def move(command: str, *arguments: str) -> Move:
    """The move that *command* makes: "regress" with a phase and a text, "approve-internal" with a PR."""
    given: dict[str, Any] = {"text": TEXTS[command]} if command in TEXTS else {}
    left = list(arguments)
    if command == "regress":
        given["phase"] = left.pop(0)
    if command == "approve-internal" and left:
        given["pr"] = PullRequest.parse(left.pop(0))
    if left:
        given["text"] = left.pop(0)
    return partial(MOVES[command], **given)


def do(here: Place, command: str, *arguments: str, key: str = KEY) -> Changed[files.Feature]:
    """Give *command* to the feature."""
    return FORMAT.change(here, key, move(command, *arguments))


def walk(here: Place, *commands: str) -> None:
    """Several, each with its arguments behind it: "regress 01-requirements"."""
    for command in commands:
        do(here, *command.split())


def write_artefacts(project: Project, slug: str = SLUG) -> None:
    """Those of all phases, so that each can be submitted."""
    for name in NAMES:
        project.write(f"workflow/{slug}/{name}/artefact.md", "# Written\n")


APPROVE_PHASE = ("submit", "approve-internal #7", "approve")


def put(project: Project, data: object, path: str = files.STATE, slug: str = SLUG) -> Path:
    text = data if isinstance(data, (str, bytes)) else json.dumps(data, indent=2) + "\n"
    return project.write(f"workflow/{slug}/{path}", text)


def put_feature(project: Project, data: dict[str, Any], slug: str = SLUG) -> None:
    """A feature as another tool wrote it: the state, and five status.json that agree with it."""
    put(project, data, slug=slug)
    for name, summary in data["phases"].items():
        status = {
            "phase": name,
            "status": summary["status"],
            "iterations": summary["iterations"],
            "max_iterations": 4,
            "current_feedback": None,
            "history": [],
        }
        put(project, status, f"{name}/status.json", slug)


def read(project: Project, path: str = files.STATE, slug: str = SLUG) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / "workflow" / slug / path).read_bytes())
    return data


def status(project: Project, number: int) -> dict[str, Any]:
    """The status.json of phase *number*."""
    return read(project, f"{NAMES[number - 1]}/status.json")


def tree(project: Project) -> dict[str, bytes]:
    """Every file below workflow/."""
    folder = project.root / "workflow"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# A feature by commands, from its start on: the command, and what is next after it.
URL = "https://github.com/OWNER/REPO/pull/7"
_REVIEWED = "Requirements, iteration 2 of 4: the creator revises after"
RUN: list[tuple[list[str], str]] = [
    (["submit"], "Requirements, iteration 1 of 4: the reviewer evaluates the artefact"),
    (["revise", "no errors"], f"{_REVIEWED} the review: no errors"),
    (["submit"], "Requirements, iteration 2 of 4: the reviewer evaluates the artefact"),
    (
        ["approve-internal", "complete", "--pr", URL],
        f"Requirements, iteration 2 of 4: a person reviews it on PR #7 ({URL})",
    ),
    (
        ["request-changes", "shorter"],
        f"{_REVIEWED} a person's comments on the pull request: shorter",
    ),
    (["submit"], "Requirements, iteration 2 of 4: the reviewer evaluates the artefact"),
    (["approve-internal", "complete"], "a person reviews it on PR #7"),
    (["approve"], "Architecture: the creator works on the artefact"),
    (["escalate", "lost"], "Architecture: it is escalated (lost)"),
    (
        ["guide", "smaller", "--by", "maintainer"],
        "Architecture: the creator revises by the guidance that a person gave: smaller",
    ),
    (
        ["regress", NAMES[0], "offline"],
        f"{_REVIEWED} a person's comments on this earlier phase: offline",
    ),
    (["escalate", "stuck"], "Requirements, iteration 2 of 4: it is escalated (stuck)"),
    (["override"], "Architecture: the creator works on the artefact"),
    *(
        step
        for title in ("Architecture", "Implementation", "Testing", "Documentation")
        for step in (
            (["submit"], f"{title}, iteration 1 of 4: the reviewer evaluates the artefact"),
            (["approve-internal", "good"], f"{title}, iteration 1 of 4: a person reviews it on PR"),
            (["approve"], "the creator works on the artefact")
            if title != "Documentation"
            else (["approve"], "All phases are approved on PR #7"),
        )
    ),
]


# A command line that dies before one of its renames.
_DYING = f"""{ARMED}
import sys
arm("replace", number=int(sys.argv.pop(1)))
from holdfast.__main__ import main
sys.exit(main())
"""


def killed_at_rename(project: Project, number: int, *command: str) -> int:
    """The exit code of a command that is killed before its rename *number*; -9 if it came so far."""
    return subprocess.run(
        [sys.executable, "-c", _DYING, str(number), *command],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        check=False,
    ).returncode
