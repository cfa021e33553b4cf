"""The phases and tasks of a task document."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.errors import IllegalMove
from holdfast.formats.orchestrator import plan
from holdfast.formats.orchestrator.plan import Plan, Unclear
from holdfast.testing import Project
from orchestrated import place

DOCUMENT = """\
# User authentication

## Phase 1: Foundation

### Task 1.1: Update `User` model and **database** schema
- [ ] the migration is tested
- [ ] 1.2 Implement JWT authentication

```markdown
- [ ] 1.9 only an example
```
<!-- - [ ] 1.8 a comment -->

## Phase 2 - Endpoints
- [x] 2.1 Create auth endpoints
1. [ ] **Task 2.2**: Add role-based access control
- 2.3 has no box, so it is only spoken of
### 2.10 The tenth

### Phase 3
* [ ] 3.1
"""


def told(found: Plan) -> list[tuple[int, str, str]]:
    return [(each.phase, each.task, each.name) for each in found.tasks]


def test_phases_and_tasks_are_read_from_headings_and_boxes() -> None:
    """Phases count from 0, ids stay as they are; what is ticked is done."""
    found = plan.read(DOCUMENT)
    assert found.phases == ("Foundation", "Endpoints", "Phase 3")
    assert told(found) == [
        (0, "1.1", "Update User model and database schema"),
        (0, "1.2", "Implement JWT authentication"),
        (1, "2.2", "Add role-based access control"),
        (1, "2.10", "The tenth"),
        (2, "3.1", "Task 3.1"),
    ]


def test_without_headings_the_ids_tell_the_phases() -> None:
    """A bare list, as given on the command line."""
    for found in (
        plan.read("- [ ] 1.1 One\n- [ ] 4.1 Two\n- [ ] 1.2 Three\n"),
        plan.given(["1.1 One", "Task 4.1: Two", "1.2 - Three"]),
    ):
        assert found.phases == ("Phase 1", "Phase 4")
        assert told(found) == [(0, "1.1", "One"), (1, "4.1", "Two"), (0, "1.2", "Three")]


def test_a_document_without_tasks_lists_nothing() -> None:
    """It may still have to be written."""
    assert plan.read("# Ideas\n- [ ] think\nversion 1.2 is out\n") == Plan((), ())


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("## Phase 1: A\n- [ ] 1.1 a\n- [ ] 1.1 b\n", "task 1.1 appears twice"),
        ("## Phase 1: A\n- [ ] 2.1 a\n", "task 2.1 stands below phase 1"),
        ("## Phase 1: A\n## Phase 1: B\n", "phase 1 appears twice"),
    ],
)
def test_what_cannot_be_followed_is_refused(text: str, cause: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(Unclear, match=cause):
        plan.read(text)


def test_a_task_that_is_given_needs_its_id() -> None:
    """Otherwise nobody could name it."""
    with pytest.raises(IllegalMove, match="'Update the model' is not a task"):
        plan.given(["Update the model"])


@pytest.mark.parametrize(
    "piece", ["a_", "_", "- [ ] 1.1 x ", "## Phase 1", "*", "`", "1.1 ", "- [ ] 1.1"]
)
def test_a_long_line_takes_no_time(
    piece: str, cpu: Callable[[Callable[[], object]], float]
) -> None:
    """Whatever it consists of."""
    for text in (piece * 300_000, f"- [ ] 1.1 a{piece * 100_000}b", f"## {piece * 100_000}b"):
        assert cpu(lambda text=text: plan.read(text)) < 3


def test_a_document_is_opened_only_where_reading_is_allowed(holdfast_project: Project) -> None:
    """A state file may come with a clone, and name any file."""
    here = place(holdfast_project)
    inside = holdfast_project.write("docs/tasks.md", DOCUMENT)
    outside = holdfast_project.root.parent / "tasks.md"
    outside.write_text(DOCUMENT)
    (holdfast_project.root / "link.md").symlink_to(outside)
    assert plan.may_be_read(here, str(inside))
    assert plan.may_be_read(here, "docs/tasks.md")
    for name in (
        str(outside),
        "../tasks.md",
        "link.md",
        "docs",
        "nowhere.md",
        "",
        "a\0b",
        "\ud800",
    ):
        assert not plan.may_be_read(here, name), name
