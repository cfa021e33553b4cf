"""`doctor --delivery` says what the transcript shows, piece by piece. The lines are the client's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import Compactions, Project

BOUNDARY = {
    "type": "system",
    "subtype": "compact_boundary",
    "timestamp": "2026-01-02T03:04:05.678Z",
    "compactMetadata": {"trigger": "manual"},
}
PREVIEW = "<persisted-output>\nOutput too large (11.7KB). Full output saved to: x\n\nPreview:\n# Wo"


def attachment(kind: str, **fields: object) -> dict[str, Any]:
    hook = {"type": kind, "hookName": "SessionStart:compact", "hookEvent": "SessionStart"}
    return {"type": "attachment", "attachment": hook | fields}


def contexts(texts: Sequence[str]) -> dict[str, Any]:
    return attachment("hook_additional_context", content=list(texts), hookName="SessionStart")


def said(text: str) -> dict[str, Any]:
    stdout = json.dumps({"hookSpecificOutput": {"additionalContext": text}})
    return attachment("hook_success", content="", stdout=stdout)


@pytest.fixture
def told(holdfast_project: Project, compaction_cycle: Compactions) -> list[str]:
    """The guidance and the three parts of one restore."""
    lines = [f"line {number} of the guide" for number in range(1, 1001)]
    holdfast_project.write("docs/guide.md", "\n".join(lines) + "\nreading 9 of 9: fake, line 1\n")
    holdfast_project.declare("W", reading=["@docs/guide.md"])
    cycle = compaction_cycle()
    return [cycle.guidance, *cycle.reading]


def doctor(project: Project, *records: object) -> tuple[int, list[str]]:
    path = project.root.parent / "transcript.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in records) + "\n", encoding="utf-8")
    done = project.run("doctor", "--delivery", "--transcript", str(path), check=False)
    assert done.stderr == "" or done.returncode == 1
    return done.returncode, [line.strip() for line in done.stdout.splitlines()[1:]]


def test_all_of_it_arrived(holdfast_project: Project, told: list[str]) -> None:
    """In any order, over one attachment or several."""
    code, lines = doctor(
        holdfast_project, BOUNDARY, contexts([told[2], told[0]]), contexts([told[3], told[1]])
    )
    assert code == 0
    assert lines[0] == "Last compaction: 2026-01-02 03:04 UTC (manual)"
    assert [" ".join(line.split()[:2]) for line in lines[1:]] == [
        "guidance arrived",
        *("part 1", "part 2", "part 3"),
    ]
    assert re.search(r": docs/guide\.md, version \w+, lines 1-", lines[2])
    assert "fake" not in "".join(lines)


def test_a_part_that_is_missing(holdfast_project: Project, told: list[str]) -> None:
    """Nobody said it, or somebody did and it was not passed on."""
    code, lines = doctor(holdfast_project, BOUNDARY, contexts(told[:3]))
    assert code == 1
    assert lines[-1].split("  ", 1)[0] == "part 3 of 3"
    assert "no hook printed it; is it registered?" in lines[-1]
    code, lines = doctor(holdfast_project, BOUNDARY, said(told[3]), contexts(told[:3]))
    assert "the hook printed it, but the client did not pass it on" in lines[-1]


def test_a_preview_in_place_of_the_guidance(holdfast_project: Project, told: list[str]) -> None:
    """What the client does with a text that it finds too long."""
    code, lines = doctor(holdfast_project, BOUNDARY, said(told[0]), contexts([PREVIEW, *told[1:]]))
    assert code == 1
    assert lines[1].startswith("guidance       MISSING  the client replaced it with a preview")


def test_registered_twice(holdfast_project: Project, told: list[str]) -> None:
    """By the settings and by a plugin, say."""
    code, lines = doctor(holdfast_project, BOUNDARY, contexts([*told, *told]))
    assert code == 1
    assert all("DOUBLED" in line and "2 times" in line for line in lines[1:])


def test_a_hook_that_failed(holdfast_project: Project, told: list[str]) -> None:
    """The client notes it, too; other people's hooks are none of our business."""
    other = attachment("hook_non_blocking_error", command="prettier --check", stderr="x")
    error = attachment("hook_non_blocking_error", command="holdfast hook", stderr="not found")
    late = attachment("hook_cancelled", command="holdfast hook --part 3", timedOut=True)
    code, lines = doctor(holdfast_project, BOUNDARY, other, contexts(told))
    assert code == 0
    code, lines = doctor(holdfast_project, BOUNDARY, error, late, contexts(told[1:3]))
    assert (code, lines[1]) == (1, "guidance       FAILED   holdfast hook: not found")
    assert lines[-1] == "part 3 of 3    FAILED   holdfast hook --part 3: it took too long"


def test_only_what_is_behind_the_last_compaction_counts(
    holdfast_project: Project, told: list[str]
) -> None:
    """What came before has left the context."""
    code, lines = doctor(holdfast_project, BOUNDARY, contexts(told), BOUNDARY)
    assert code == 1
    assert "no hook printed it" in lines[1]
    other = attachment("hook_additional_context", content=told, hookName="UserPromptSubmit")
    assert doctor(holdfast_project, BOUNDARY, other)[0] == 1
    resumed = attachment("hook_success", content="", stdout="", hookName="SessionStart:resume")
    assert doctor(holdfast_project, BOUNDARY, contexts(told), resumed, contexts(told))[0] == 0


@pytest.mark.parametrize("damage", ["", "[]", "null", '{"attachment": 5}', '{"hook_: '])
def test_lines_that_are_none_are_passed_over(
    holdfast_project: Project, told: list[str], damage: str
) -> None:
    """The client may be writing at this moment."""
    path = holdfast_project.root / "t.jsonl"
    good = [json.dumps(each) for each in (BOUNDARY, contexts(told))]
    path.write_text("\n".join([damage, good[0], damage, good[1], damage]), encoding="utf-8")
    done = holdfast_project.run("doctor", "--delivery", "--transcript", str(path))
    assert "MISSING" not in done.stdout


def test_no_transcript_no_compaction(holdfast_project: Project, tmp_path: Path) -> None:
    """Each is said with what to do."""
    done = holdfast_project.run("doctor", "--delivery", check=False)
    assert (done.returncode, "--transcript FILE" in done.stderr) == (1, True)
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    for path, words in ((empty, "shows no compaction"), (tmp_path / "gone", "No such file")):
        done = holdfast_project.run("doctor", "--delivery", "--transcript", str(path), check=False)
        assert (done.returncode, words in done.stderr) == (1, True)


def test_the_transcript_is_known_from_the_last_restore(
    holdfast_project: Project, told: list[str]
) -> None:
    """Of this session where one is known, else of the last one here."""
    path = holdfast_project.root / "session-1.jsonl"  # what the simulated client says
    path.write_text("\n".join(json.dumps(each) for each in (BOUNDARY, contexts(told))))
    done = holdfast_project.run("doctor", "--delivery", "--json")
    assert json.loads(done.stdout)["whole"] is True
    assert json.loads(done.stdout)["transcript"] == str(path)
    done = holdfast_project.run("doctor", "--delivery", "--json", session="another")
    assert json.loads(done.stdout)["transcript"] == str(path)  # the project's last one
