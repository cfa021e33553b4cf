"""Every statement of the five documents has its test, a reason to differ, or what is seen today."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORMATS = ("canonical", "skill", "gated", "orchestrator", "pipeline")
ANSWERS = {"test", "differs", "open"}

STATEMENTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("statements.toml").read_text("utf-8")
)


def test_each_statement_has_one_answer() -> None:
    """It says something, and has either a test, or why it differs, or what is seen today."""
    wrong = {
        name: statement
        for name, statement in STATEMENTS.items()
        if not name.startswith(tuple(f"{format_name}-" for format_name in FORMATS))
        or not all(statement.values())
        or "says" not in statement
        or len(ANSWERS & set(statement)) != 1
        or set(statement) - ANSWERS != {"says"}
    }
    assert wrong == {}


def test_each_named_test_exists() -> None:
    """By the text of its file: nothing is collected."""
    missing = {
        name: statement["test"]
        for name, statement in STATEMENTS.items()
        if "test" in statement and not exists(statement["test"])
    }
    assert missing == {}


def exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return name.startswith("test_") and name in functions_of(path)


@cache
def functions_of(path: str) -> frozenset[str]:
    file = ROOT / path
    if not path.startswith("tests/") or not file.is_file():
        return frozenset()
    body = ast.parse(file.read_text("utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef))
