"""Where there is nothing to state, people write so, or leave what stood in a template."""

from __future__ import annotations

import re

from holdfast.patterns import pattern

_THING = r"(?:workflows?|phases?|plans?|gates?|steps?|actions?|tasks?|state|one|reading|reminders?)"
_NOW = r"(?:active|running|open|set|needed|required|planned|yet|(?:for|right)\s+now|now|currently|in\s+progress|at\s+(?:the\s+moment|this\s+time|present))"
_NONE = pattern(
    rf"(?:none|n\s*/\s*a|no(?:\s+(?:active|current|open|running|next|further|more))*\s+{_THING})"
    rf"(?:\s+(?:is\s+)?{_NOW})*+\s*(?:$|[.;,(!]|[-–—]+\s)",
    re.IGNORECASE,
)
_UNKNOWN = pattern(
    r"(?:na|nil|null|nothing|unknown|undefined|idle|inactive|todo|tb[acd]|\W*"
    r"|not\s+(?:applicable|set|active|yet\s+(?:known|set|decided))|to\s+be\s+(?:determined|decided|defined|announced))",
    re.IGNORECASE,
)
_TEMPLATE = pattern(r"[_.-]*(?:0+[_-]+)?(?:plan[_-]*)?templates?[_-]*(?:\.\w+)?", re.IGNORECASE)
_AROUND = "()[]<>{}*_`~.!…: \t"
_SLOT = pattern(r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]0-9]*\](?!\()")
_SYMBOLS = pattern("[\u2190-\u2bff\U0001f000-\U0001faff]")
_LONGEST = 300  # with its remark


def says_nothing(value: str) -> bool:
    """Whether a value states that there is none: "none", "N/A", "TBD", "-"."""
    inner = value[:_LONGEST].strip(_AROUND)
    if _NONE.match(inner):
        return True
    return len(value) < _LONGEST and bool(_UNKNOWN.fullmatch(inner)) and not _SYMBOLS.search(value)


def template_name(path: str) -> str | None:
    """The folder or file on a path whose name says that it is a template."""
    return next((part for part in path.split("/") if _TEMPLATE.fullmatch(part)), None)


def is_template(value: str) -> bool:
    """Whether a value is what somebody was to fill in: "<name>", "[workflow name]"."""
    if len(value) > _LONGEST or value[:1] not in {"<", "{", "["}:
        return False
    return not re.search(r"\w", _SLOT.sub("", value))
