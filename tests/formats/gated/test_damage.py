"""Files that somebody damaged: said in words by every command and every hook, never a traceback."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surveying import surveyed

from gatedwork import ALL_FILES, FOLDER, KEY, MOVES, NAMES, begin, do, put, read, status, walk
from holdfast.errors import HoldfastError
from holdfast.formats.gated.format import FORMAT
from holdfast.restoring.guidance import for_person
from holdfast.testing import MovableClock, Project

WAYS = ([], ["submit"], ["submit", "revise"], ["submit", "approve-internal #7"], ["escalate"])
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 5, -1, 2.5, "", "x", "approved", NAMES[2], "\u202e\x00"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("action"), inner),
    max_leaves=3,
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in *data*."""
    inside = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, value in inside:
        found.append((*path, key))
        if isinstance(value, (dict, list)):
            found += places(value, (*path, key))
    return found


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def is_done(command: Callable[[], object]) -> bool:
    """Whether it was done, or refused in words; another error fails the test."""
    try:
        command()
    except HoldfastError:
        return False
    return True


@settings(max_examples=40)
@given(data=st.data(), way=st.sampled_from(WAYS), name=st.sampled_from(ALL_FILES[:3]))
def test_no_damage_ends_in_a_traceback(data: st.DataObject, way: list[str], name: str) -> None:
    """Any value anywhere in a file: hooks go on, and commands do their work or say why not."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder) / "project", Path(folder) / "home", MovableClock())
        here = begin(project)
        walk(here, *way)
        if data.draw(st.booleans()):
            for copy in (project.root / ".claude/holdfast/copies").iterdir():
                copy.unlink()
        there = read(project, name)
        damaged = replaced(there, data.draw(st.sampled_from(places(there))), data.draw(VALUES))
        path = put(project, damaged, name)
        os.utime(path, (0, 0))
        for wait in (None, 1.0):
            survey = surveyed(FORMAT, here, wait)
            assert survey.failure is None
            for workflow in survey.workflows:
                assert for_person(workflow.briefing, "restored")
        FORMAT.inspect(path, path.read_bytes())
        for command in data.draw(st.permutations(sorted(set(MOVES) - {"regress"}))):
            is_done(partial(do, here, command))
        if is_done(partial(FORMAT.reconcile, here, KEY)):
            left = list(FORMAT.problems_of(here.store, here.root / FOLDER))
            assert not [line for line in left if "workflow-state.json says" in line]


@pytest.mark.parametrize("action", [[1], {"a": 1}, None, 7])
def test_a_history_of_another_shape(action: object, holdfast_project: Project) -> None:
    """What is no word says nothing; what is there stays."""
    here = begin(holdfast_project)
    strange = [{"action": action}, "text", 3]
    put(holdfast_project, {**status(holdfast_project, 1), "history": strange}, f"{NAMES[0]}/status.json")  # fmt: skip
    (workflow,) = surveyed(FORMAT, here).workflows
    assert workflow.briefing.next_action == "Requirements: the creator works on the artefact"
    walk(here, "submit", "revise")
    history = json.loads((here.root / FOLDER / NAMES[0] / "status.json").read_bytes())["history"]
    assert history[:3] == strange
    assert [each["action"] for each in history[3:]] == ["submitted", "created"]
