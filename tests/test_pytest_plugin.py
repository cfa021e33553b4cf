"""The fixtures, proven by running pytest inside pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs" / "testing.md"


def examples() -> list[str]:
    """Every Python example of docs/testing.md."""
    return [
        part.split("```")[0] for part in DOCS.read_text(encoding="utf-8").split("```python\n")[1:]
    ]


@pytest.mark.parametrize(
    "arguments", [[], ["-n", "2"], ["-p", "no:cacheprovider", "--import-mode=importlib"]]
)
def test_the_documented_examples_run(pytester: pytest.Pytester, arguments: list[str]) -> None:
    """As a reader pastes them: plain, in parallel, in another import mode."""
    code = examples()
    assert len(code) >= 2
    for number, example in enumerate(code):
        pytester.makepyfile(**{f"test_example_{number}": example})
    result = pytester.runpytest_subprocess(*arguments)
    count = sum(example.count("def test_") for example in code)
    result.assert_outcomes(passed=count)


def test_every_fixture_in_a_users_test(pytester: pytest.Pytester) -> None:
    """Builder, clock, N cycles, parallel firings, no PreCompact, other session, subagent, worktree."""
    pytester.makepyfile(
        """
        def test_cycles(holdfast_project, compaction_cycle):
            holdfast_project.declare("Mine", phase="1/2 - A")
            assert "Mine" in compaction_cycle(5).guidance
            assert "Mine" in compaction_cycle(in_process=False).guidance
            assert "Mine" in compaction_cycle(pre_compact=False, session="other").guidance
            assert compaction_cycle(agent_id="sub").guidance == ""
            assert all(outcome.code == 0 for outcome in compaction_cycle.at_once(4))
            assert len(holdfast_project.states()) == 1

        def test_clock(holdfast_project, compaction_cycle, holdfast_clock):
            holdfast_project.run("start", "Mine")
            holdfast_clock.advance(days=8)
            assert "untouched for 8 days" in compaction_cycle().message

        def test_worktree(holdfast_project, compaction_cycle):
            holdfast_project.plan("001-x", {"A": ["x done", "open"]})
            side = holdfast_project.worktree("side")
            assert "Next action: open" in compaction_cycle(cwd=side).guidance
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=3)


def test_a_failing_workflow_fails_the_users_test(pytester: pytest.Pytester) -> None:
    """The fixtures do not make everything green."""
    pytester.makepyfile(
        """
        def test_it(holdfast_project, compaction_cycle):
            holdfast_project.write("CLAUDE.local.md", "nothing declared here")
            assert "Mine" in compaction_cycle().guidance
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(failed=1)


def test_the_plugin_costs_nothing_until_it_is_used(pytester: pytest.Pytester) -> None:
    """pytest loads it in every run where Holdfast is installed."""
    pytester.makepyfile(
        """
        import sys

        def test_it():
            assert "holdfast.pytest_plugin" in sys.modules
            assert not {"holdfast.testing", "pydantic", "click"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)
