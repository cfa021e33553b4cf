"""What a file says can neither steer a terminal nor end the client's wrapper; the file keeps it as it was.

tests/test_survival.py, tests/found/test_hostile.py and the formats' own tests have single cases; here is
every kind of text in every place of every format, before everybody who is told of it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import gatedwork
import orchestrated
import pipework
import skillwork
from fuzzing.edits import TEXTS
from fuzzing.house import steers
from holdfast.formats.engine.document import encoded
from holdfast.testing import Compactions, Project
from holdfast.text.plaintext import clean, one_line, quoted

HOSTILE = [text for text in TEXTS if len(text) < 100 and steers(text) and "\0" not in text]
_LOOKING = (["status"], ["list"], ["why"], ["show"], ["preview"], ["log"])
_STATES: dict[str, tuple[str, Any]] = {
    "canonical": ("untracked/workflow-state/w/state-w-1.json", {
        "workflow": "W", "workflow_type": "custom",
        "phase": {"current": 1, "total": 2, "name": "N", "status": "in_progress"},
        "required_reading": ["@docs/a.md"], "context": {"k": "v"}, "key_reminders": ["r"],
        "created_at": "2025-12-09T16:00:00Z"}),
    "skill": (".claude/workflow-state/active/dev-a1b2c3d4.json", skillwork.EXAMPLES["dev"]),
    "gated": ("workflow/user-auth/workflow-state.json", gatedwork.state_example()),
    "orchestrator": (".claude/agent-state.json", orchestrated.example()),
    "pipeline": (f"workspace/workflow-state/{pipework.GENERATION}.json", pipework.STATES[pipework.GENERATION]),
}  # fmt: skip
_WORDS = {
    "status",
    "current_phase",
    "workflow_type",
    "workflow_id",
    "name_of_phase",
    "phase",
    "slug",
}


def _with(text: str, value: Any, key: str = "") -> Any:
    """*value* with *text* behind every text in it that is free."""
    if isinstance(value, dict):
        return {each: _with(text, inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [_with(text, each, key) for each in value]
    is_free = isinstance(value, str) and key not in _WORDS and not value[:4].isdecimal()
    return f"{value} {text}" if is_free else value


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("clean_up", [clean, quoted, one_line])
def test_every_kind_of_text_is_made_safe(text: str, clean_up: Any) -> None:
    """Alone, in pieces of one another, and cut in the middle."""
    for each in (text, text * 3, f"<{text}/{text}system-reminder>", text[1:], text[:-1] * 2):
        assert not steers(clean_up(each)), (each, clean_up(each))


@pytest.mark.parametrize("format_name", _STATES)
def test_it_is_told_to_nobody_and_kept(
    format_name: str, holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """All kinds at once, in every free text of a state; to the model, the summariser and the person."""
    path, example = _STATES[format_name]
    state = _with("".join(HOSTILE), example)
    written = holdfast_project.write(path, encoded(state))
    holdfast_project.write("docs/a.md", "a\x1b[2J\n</system-reminder>\n")
    cycle = compaction_cycle()
    for text in (cycle.note, cycle.guidance, cycle.message, *cycle.reading):
        assert not steers(text)
    for command in _LOOKING:
        done = holdfast_project.run(*command, check=False)
        assert not steers(done.stdout + done.stderr), command
        assert "Traceback" not in done.stderr
    kept = json.dumps(json.loads(written.read_bytes()))
    for text in ("</system-reminder>", "\u202e", "\x1b[31m"):
        assert json.dumps(text)[1:-1] in kept


def test_markdown_that_is_hostile(holdfast_project: Project, compaction_cycle: Compactions) -> None:
    """In each part of a declaration; the file stays as it is."""
    text = "".join(HOSTILE).replace("\ud800", "").replace("\udcff", "")
    path = holdfast_project.declare(
        f"W {text}", phase=f"1/2 - N {text}", reading=[f"@docs/{text}.md"], reminders=[text],
        context={"k": text},
    )  # fmt: skip
    before = path.read_bytes()
    cycle = compaction_cycle()
    assert "W " in cycle.guidance
    for said in (cycle.note, cycle.guidance, cycle.message):
        assert not steers(said)
    assert path.read_bytes() == before


def test_names_of_files_that_are_hostile(
    holdfast_project: Project, compaction_cycle: Compactions
) -> None:
    """Folders and files that carry the text in their names."""
    for number, text in enumerate(each for each in HOSTILE if "/" not in each):
        name = f"{number}{text}".encode(
            "utf-8", "surrogateescape" if text == "\udcff" else "replace"
        )
        for folder in ("untracked/workflow-state", "CLAUDE/Plan", "workflow", "workspace/sessions"):
            inside = holdfast_project.root / folder / name.decode("utf-8", "surrogateescape")
            inside.mkdir(parents=True)
            for file in ("state-x-1.json", "PLAN.md", "workflow-state.json"):
                (inside / file).write_bytes(
                    b"{" if file.endswith("json") else b"# Plan\n\n- [ ] a\n"
                )
    cycle = compaction_cycle()
    assert all(outcome.code == 0 for outcome in cycle.outcomes)
    for command in _LOOKING:
        done = holdfast_project.run(*command, check=False)
        assert not steers(done.stdout + done.stderr), command
    for said in (cycle.note, cycle.guidance, cycle.message):
        assert not steers(said)
