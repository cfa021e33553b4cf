"""Where reading does not come in parts, the guidance carries as much of it as there is room for."""

from __future__ import annotations

import pytest
from asking import EVERY

from holdfast import agents
from holdfast.records import sessionlog
from holdfast.testing import Project
from holdfast.text.room import units

INLINED = ["copilot", "gemini", "opencode"]


@pytest.mark.parametrize("name", INLINED)
def test_what_fits_is_whole_and_what_does_not_is_named(
    name: str, holdfast_project: Project
) -> None:
    """With the reason; the longest texts that the guidance may have leave their room to it."""
    project, room = holdfast_project, agents.named(name).capabilities.room
    sizes = {"a": 20_000, "b": 40_000, "c": 15_000, "d": 3_000}
    for each, size in sizes.items():
        project.write(f"docs/{each}.md", f"{each * 79}\n" * (size // 80))
    project.declare(
        "Work",
        phase="2/4 - Build",
        reading=[*(f"@docs/{each}.md" for each in sizes), "@docs/missing.md"],
        reminders=[f"{number} {'word ' * 60}" for number in range(60)],
    )
    asking = EVERY[name](project)
    asking.compacts()
    told = asking.restored()
    assert units(told) <= room.most
    guidance, _, reading = told.partition("\n\nRequired reading of the workflow ")
    assert units(guidance) <= 9_500
    assert 'comes at the end of this, in one part labelled "reading 1 of 1"' in guidance
    for each in ("a", "c", "d"):
        assert f"@docs/{each}.md (sent, part 1, version " in guidance
        assert project.root.joinpath(f"docs/{each}.md").read_text().strip() in reading
    assert "@docs/b.md (not sent: no room for it beside the guidance)" in guidance
    assert "@docs/missing.md (not sent: missing)" in guidance
    assert "Still to be read from disk: @docs/b.md." in guidance
    assert "b" * 79 not in reading


@pytest.mark.parametrize("name", INLINED)
def test_a_part_that_is_asked_for_all_the_same_says_nothing(
    name: str, holdfast_project: Project
) -> None:
    """The plugin may be registered as it is for others."""
    holdfast_project.write("docs/a.md", "text\n")
    holdfast_project.declare("Work", reading=["@docs/a.md"])
    asking = EVERY[name](holdfast_project)
    asking.compacts()
    for source in ("compact", "resume", "startup"):
        assert asking.fire("SessionStart", "--part", "1", source=source).stdout == b""
    assert "1.\n" not in asking.restored()


def test_reading_that_is_only_to_be_listed_is_not_inlined(holdfast_project: Project) -> None:
    """The setting holds for everybody."""
    holdfast_project.write(".claude/holdfast.toml", 'reading = "list"\n')
    holdfast_project.write("docs/a.md", "the text of it\n")
    holdfast_project.declare("Work", reading=["@docs/a.md"])
    asking = EVERY["opencode"](holdfast_project)
    asking.compacts()
    told = asking.restored()
    assert "@docs/a.md" in told
    assert "the text of it" not in told


def test_what_codex_is_told_fits_its_bytes(holdfast_project: Project) -> None:
    """Guidance and parts alike, in letters of three bytes; else it would be cut."""
    holdfast_project.write("docs/a.md", f"{'漢字' * 30}\n" * 300)
    holdfast_project.declare(
        "Work",
        phase="2/4 - Build",
        reading=["@docs/a.md"],
        reminders=[f"{number} {'漢字' * 100}" for number in range(40)],
    )
    asking = EVERY["codex"](holdfast_project)
    asking.compacts()
    told = [asking.restored()]
    for number in range(1, 13):
        said = asking.fire("SessionStart", "--part", str(number), source="compact")
        told += [asking.context(said)] if said.stdout else []
    assert len(told) > 6
    assert told[0].startswith("# Workflow restored after the compaction: Work")
    assert "## ACTION REQUIRED" in told[0]
    assert f"in {len(told) - 1} parts labelled" in told[0]
    assert all(len(each.encode()) <= 9_500 for each in told)
    assert sum(each.count("漢字" * 30) for each in told[1:]) == 300


def test_what_is_delivered_inline_is_noted(holdfast_project: Project) -> None:
    """So that the next restore knows it."""
    holdfast_project.write("docs/a.md", "text\n")
    holdfast_project.declare("Work", reading=["@docs/a.md"])
    asking = EVERY["gemini"](holdfast_project)
    asking.compacts()
    asking.restored()
    state_dir = str(holdfast_project.home / ".local/state/holdfast")
    (noted,) = sessionlog.parse(
        sessionlog.content(state_dir, asking.session), [sessionlog.DELIVERED]
    )
    assert list(noted["sent"].values()) == [[1, 1]]
    holdfast_project.write("docs/a.md", "another text\n")
    asking.compacts()
    assert "changed since the last restore" in asking.restored()
