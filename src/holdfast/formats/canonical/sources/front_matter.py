"""Front matter states fields in YAML, which people write loosely and strangers may write to harm."""

from __future__ import annotations

import re
from datetime import date
from math import isfinite

from holdfast.formats.canonical.declaration import Json
from holdfast.formats.canonical.sources.values import encodable
from holdfast.patterns import pattern

_LIMIT = 64 * 1024
_DEPTH = 50

_CLOSING = pattern(r"^---[ \t]*$", re.MULTILINE)
# YAML refuses a plain "@path" and a second colon in a plain value. People write both.
_LOOSE = pattern(
    r"^([ \t]*+(?:- ++)?(?:[\w -]++: ++)?)(@.*)$|^([ \t]*+[\w -]++: ++)([^\s'\"\[{|>#].*: .*)$",
    re.MULTILINE,
)


def front_matter(text: str) -> tuple[dict[str, Json], str, str | None]:
    """The fields, the body with its line numbers kept, and what was wrong with the fields."""
    if not text.startswith("---") or text[: max(text.find("\n"), 0)].rstrip() != "---":
        return {}, text, None
    closing = _CLOSING.search(text, 4, _LIMIT)
    if closing is None:
        return {}, text, None
    block = text[text.find("\n") + 1 : closing.start()]
    head = text[: closing.end()]
    body = text.replace(head, "\n" * head.count("\n"), 1)  # of a large file one copy, not two
    fields, problem = _load(block)
    if problem:
        loosened, still = _load(_LOOSE.sub(_quoted, block))
        fields, problem = (loosened, None) if not still else (fields, problem)
    return fields, body, problem


def _quoted(match: re.Match[str]) -> str:
    key, value = match[1] or match[3] or "", match[2] or match[4]
    return key + "'" + value.replace("'", "''") + "'"


def _load(block: str) -> tuple[dict[str, Json], str | None]:
    # Most files have no front matter, and YAML costs as much as the rest of the hook.
    import yaml  # noqa: PLC0415
    from frontmatter.default_handlers import SafeLoader, YAMLHandler  # noqa: PLC0415

    depth = 0
    try:
        for event in yaml.parse(block, Loader=SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
                return {}, "front matter uses YAML aliases or tags, which are not followed"
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH:
                return {}, "front matter is nested too deeply"
        loaded: object = YAMLHandler().load(block)
        fields = _plain(loaded)
    except (yaml.YAMLError, ValueError, ArithmeticError) as error:
        mark = getattr(error, "problem", None) or error
        return {}, f"front matter is not valid YAML: {str(mark).splitlines()[0][:200]}"
    if loaded is None:
        return {}, None
    return (fields, None) if isinstance(fields, dict) else ({}, "front matter is not a mapping")


def _plain(value: object) -> Json:
    if isinstance(value, dict):
        return {encodable(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() < 64:
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    return str(value)
