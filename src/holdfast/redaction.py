"""Text without the values in it that look secret. Light; the time it takes grows with the length.

What is hidden in vain costs a word; what is not hidden stays in files. In doubt it is hidden.
"""

from __future__ import annotations

import re

from holdfast.patterns import pattern
from holdfast.plaintext import one_line

LONGEST = 2_000  # characters that are looked at; the rest is left out

_PARTS = pattern(r"(?<=[a-z\d])(?=[A-Z])")  # dbPass: db, Pass
_SECRET_NAME = pattern(
    r"token(?!i[sz])|secret|passw|passphrase|pwd|credential|bearer|cookie|authoriz|jwt|signature"
    r"|apikey|(?:private|access|encryption|signing|secret|master)key"
    r"|(?<![a-z\d])(?:api|private|access|encryption|signing|master|shared|account)[-_.]key"
    r"|(?<![a-z\d])(?:o?auth|creds?|sig|psk|pat|otp)(?![a-z\d])|(?<![a-z\d])(?:pass|key|pin)\Z",
    re.IGNORECASE,
)
_VALUE = r"(\"[^\"]*\"|'[^']*'|[^\s&'\"]+)"
_NAMED = pattern(rf"(?<![\w.-])([\w.-]++)(\s?=\s?){_VALUE}")
_OPTION = pattern(r"(?<![\w.-])(--?[A-Za-z][\w.-]*+)(\s+)(\"[^\"]*\"|'[^']*'|\S+)")
_FIELD = pattern(r"(?<![\w.-])([\w.-]++)([\"']?\s?:\s?)(\"[^\"]*\"|'[^']*'|[^\s'\",]+)")
_USER = pattern(
    r"(?<![\w-])((?:-u|-U|--user|--proxy-user|--username|--login)(?:=|\s+)?['\"]?[^\s:'\"]+:)[^\s'\"]+"
)
_PATTERNS = (
    # With a slash in the password, too, unless what comes before it is a port.
    (pattern(r"(://)[^/\s:@'\"]*:(?!\d+/)[^\s'\"]*@"), r"\1…@"),
    (pattern(r"(//)[^/\s'\"]*@"), r"\1…@"),
    (_USER, r"\1…"),
    (
        pattern(
            r"(?<![\w-])((?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]++)\s?:\s?)\S.*",
            re.IGNORECASE,
        ),
        r"\1…",
    ),
    (pattern(r"\b(bearer\s)(?=[^\s\d]*\d)\S+", re.IGNORECASE), r"\1…"),
    (
        pattern(
            r"(?<![A-Za-z\d])(?:(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|xapp-|eyJ)[\w.-]{8,}"
            r"|sk-[\w-]{16,}|[prs]k_(?:live|test)_\w{8,}|A(?:KIA|SIA)[A-Z\d]{12,}|AIza[\w-]{20,}"
            r"|npm_[A-Za-z\d]{20,}|pypi-[\w-]{16,}|hf_[A-Za-z\d]{16,}|dop_v1_\w{16,})"
        ),
        "…",
    ),
    (pattern(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*", re.DOTALL), r"\1…"),
)


def redacted(text: str) -> str:
    """*text* with "…" in place of what looks secret."""
    text = text[:LONGEST]
    for each, replacement in _PATTERNS:
        text = each.sub(replacement, text)
    text = _NAMED.sub(_hidden, text)
    text = _OPTION.sub(_hidden, text)
    return _FIELD.sub(_hidden_unless_prose, text)


def is_secret_name(name: str) -> bool:
    """Whether an option, a variable or a field is called like one that holds a secret."""
    return bool(_SECRET_NAME.search(_PARTS.sub("-", name[-200:])))


def _hidden(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}…" if is_secret_name(match[1]) else match[0]


def _hidden_unless_prose(match: re.Match[str]) -> str:
    """ "Token: rotate it" is a sentence, "token: hunter2" is not."""
    return match[0] if match[3].isalpha() else _hidden(match)


def one_safe_line(value: object, limit: int) -> str:
    """One line of *value*, cut after what looks secret is out of it, so that no half is left."""
    return one_line(redacted(one_line(value, 4 * limit)), limit) if isinstance(value, str) else ""
