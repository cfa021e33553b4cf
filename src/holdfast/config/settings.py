"""What is configured: .claude/holdfast.toml in the project over the user's holdfast.toml.

A wrong file is reported and ignored as a whole. A repository is not trusted to widen what is
read: keys in USER_ONLY count only in the user's file. Stdlib only; it runs before every answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from holdfast.errors import SettingsInvalid, StateUnreadable
from holdfast.files.inputs import UNRECORDED, Inputs
from holdfast.files.regular import decode_toml

PROJECT_FILE = os.path.join(".claude", "holdfast.toml")
LARGEST = 64 * 1024
MOST_PARTS = 99

# Where plans lie if nobody says. Each lists one folder; in docs/ a plan is what its name calls one.
PLANS = (
    "PLAN.md",
    "CLAUDE/Plan/*/PLAN.md",
    ".claude/plans/*.md",
    "plans/*.md",
    "docs/plans/*.md",
    "docs/{plan,todo,roadmap,milestone,task}*.md",
    "docs/{*[-_. ]plan,*[-_. ]todo,*[-_. ]roadmap,*[-_. ]milestone,*[-_. ]task}*.md",
    "{plan,todo,roadmap,implementation[-_]plan,*.plan}.md",
)

# What SessionStart does, by the source that the client names.
RESTORE = {"compact": "full", "resume": "full", "fork": "full", "startup": "line", "clear": "line"}


class Settings(NamedTuple):
    """Every key, with its default."""

    enabled: bool = True
    plans: tuple[str, ...] = PLANS
    stale_days: int = 7
    restore: Mapping[str, str] = RESTORE
    reading: str = "send"
    parts: int = 12
    file_budget: int = 60_000
    reading_roots: tuple[str, ...] = ()
    gate: str = "remind"
    observe: bool = True
    guard: str = "off"
    write_back: bool = True

    def restores(self, source: str) -> str:
        """What a SessionStart with *source* does: full, line or off."""
        return self.restore.get(source, "off")


USER_ONLY = frozenset({"reading_roots", "parts", "file_budget"})
# What the user switched off, a project's file cannot switch on.
_OFF: Mapping[str, object] = {
    "enabled": False,
    "observe": False,
    "reading": "list",
    "gate": "off",
    "guard": "off",
    "write_back": False,
}


class Loaded(NamedTuple):
    settings: Settings
    errors: tuple[SettingsInvalid, ...]  # one for each file that was ignored

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each error."""
        return tuple(f"settings ignored: {error}" for error in self.errors)


def load(root: str | None, user_file: str | None, inputs: Inputs = UNRECORDED) -> Loaded:
    """The settings that hold in *root*; never raises."""
    merged: dict[str, Any] = {"restore": RESTORE}
    errors: list[SettingsInvalid] = []
    off: Mapping[str, object] = {}
    project_file = os.path.join(root, PROJECT_FILE) if root else None
    for path, is_users in ((user_file, True), (project_file, False)):
        if path is None or not inputs.exists(path):
            continue
        try:
            values = _read(path, inputs, within=None if is_users else root)
        except SettingsInvalid as error:
            errors.append(error)
            continue
        if is_users:
            off = {key: least for key, least in _OFF.items() if values.get(key) == least}
        values["restore"] = {**merged["restore"], **values.get("restore", {})}
        merged.update(values)
    # Nothing that comes with a repository switches it on again.
    merged.update(off)
    return Loaded(Settings(**merged), tuple(errors))  # checked key by key in _read


def _read(path: str, inputs: Inputs, *, within: str | None) -> dict[str, Any]:
    try:
        inside = inputs.real_path(within) if within else None
        values = decode_toml(inputs.read_file(path, LARGEST, within=inside)[0])
    except StateUnreadable as error:
        raise SettingsInvalid(path, error.reason) from error
    except ValueError as error:
        raise SettingsInvalid(path, " ".join(str(error).split())) from error
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in _CHECKS:
            import difflib  # noqa: PLC0415  # only for the wording of an error

            close = difflib.get_close_matches(key, _CHECKS, 1)
            guess = f" (did you mean {close[0]!r}?)" if close else ""
            raise SettingsInvalid(path, f"unknown key {key!r}{guess}")
        if key in USER_ONLY and within:
            raise SettingsInvalid(path, f"{key!r} counts only in the user's own file")
        check, expected = _CHECKS[key]
        if not check(value):
            raise SettingsInvalid(path, f"{key}: expected {expected}, found {value!r:.80}")
        checked[key] = tuple(value) if isinstance(value, list) else value
    return checked


def _is_relative_globs(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, str)
        and item
        and item.isprintable()
        and "\\" not in item
        and "**" not in item
        and not os.path.isabs(item)
        and ".." not in item.split("/")
        for item in value
    )


def _is_folders(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, str) and os.path.isabs(os.path.expanduser(item)) for item in value
    )


def _is_restore(value: object) -> bool:
    return isinstance(value, dict) and all(
        # A tuple: what is no text may not even be looked up in a set.
        source in RESTORE and depth in ("full", "line", "off")
        for source, depth in value.items()
    )


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


_Check: TypeAlias = tuple[Callable[[object], bool], str]


def _whole(least: int, most: int, what: str) -> _Check:
    def check(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return check, f"a whole number of {what} from {least} to {most}"


def _one_of(*words: str) -> _Check:
    return (lambda value: value in words), " or ".join(repr(word) for word in words)


_CHECKS: dict[str, _Check] = {
    "enabled": (_is_flag, "true or false"),
    "plans": (_is_relative_globs, "a list of globs below the project, such as 'docs/*/PLAN.md'"),
    "stale_days": _whole(1, 3650, "days"),
    "restore": (_is_restore, f"a table of {', '.join(RESTORE)}, each 'full', 'line' or 'off'"),
    "reading": _one_of("send", "list"),
    "parts": _whole(1, MOST_PARTS, "parts"),
    "file_budget": _whole(1_000, 1_000_000, "characters"),
    "reading_roots": (_is_folders, "a list of absolute folders"),
    "gate": _one_of("off", "remind", "block"),
    "observe": (_is_flag, "true or false"),
    "guard": _one_of("off", "subagents", "all"),
    "write_back": (_is_flag, "true or false"),
}
