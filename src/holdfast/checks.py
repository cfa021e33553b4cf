"""Which shell commands are checks or tests, by what they run and not by what they mention. Light.

A command line may run a check and still not tell how it went: `pytest | tail` ends with the exit
code of tail, `pytest; echo done` with that of echo. Then the result is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast import shell
from holdfast.plaintext import one_line
from holdfast.programs import SHELLS, is_check, name_of
from holdfast.shell import ASSIGNMENT, Simple, Word

TEXT_LIMIT = 200


class Check(NamedTuple):
    """The checks of a command line that are reported together."""

    text: str  # their commands, without secrets; "…" stands for others on the same line
    passes: bool  # exit code 0 says that they passed
    fails: bool  # another exit code says that they failed


def check_in(source: str) -> Check | None:
    """The last check that the command line *source* runs; None when it runs none."""
    if len(source) > shell.LONGEST:
        return None
    return _check_in(source, 3)


def _check_in(source: str, depth: int) -> Check | None:
    try:
        commands = shell.split(source)
    except shell.Unclear:
        return None
    steps = [_step(each, depth) for each in commands]
    last = max((place for place, each in enumerate(steps) if each.check), default=None)
    if last is None:
        return None
    stops = any(each.sets("e", "errexit") for each in steps[:last])
    ends = {"&"} if stops else {"&", ";", "\n"}
    begin = next((at for at in range(last, 0, -1) if steps[at].connector in ends), 0)
    end = next((at for at in range(last + 1, len(steps)) if steps[at].connector in ends), None)
    line = steps[begin:end]
    alone = end is None or not any(each.words for each in steps[end:])
    pipes = any(each.sets("o", "pipefail") for each in steps[:last])
    passes = alone and (end is None or steps[end].connector != "&") and _tells(line, pipes)
    fails = passes and all(each.check.fails if each.check else each.harmless for each in line)
    return Check(_text(line), passes, fails)


class _Step(NamedTuple):
    connector: str
    words: list[Word]  # without what only surrounds the command
    check: Check | None
    plain: bool  # no loop, condition or negation stands before it

    @property
    def harmless(self) -> bool:
        """Whether it practically never fails, so that a failure of the line is another's."""
        return not self.words or self.words[0].text in _HARMLESS

    def sets(self, letter: str, name: str) -> bool:
        """Whether it is `set` with this option."""
        words = [each.text for each in self.words]
        if words[:1] != ["set"]:
            return False
        letters = any(re.fullmatch(rf"-[a-z]*{letter}[a-z]*", each) for each in words[1:])
        return name in words if letter == "o" else letters or name in words


_HARMLESS = frozenset(
    {"cd", "pushd", "popd", "export", "set", "source", ".", "echo", "printf", "true", ":", "pwd"}
    | {"date", "sleep", "ulimit", "umask", "unset", "shopt", "trap", "mkdir", "clear"}
    | {"tail", "head", "tee", "cat", "sed", "less", "sort", "cut", "ts"}
)
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{"})


def _step(simple: Simple, depth: int) -> _Step:
    words, plain = list(simple.words), True
    while words and (words[0].text in _KEYWORDS or ASSIGNMENT.match(words[0].text)):
        plain = plain and words[0].text not in _KEYWORDS
        del words[0]
    if words and words[0].text in {"fi", "done", "}", "esac", "for", "case", "function"}:
        plain = False
    return _Step(simple.connector, words, _of(simple.words, words, depth), plain)


def _of(whole: Sequence[Word], words: Sequence[Word], depth: int) -> Check | None:
    texts = [each.text for each in words]
    inner = _script_of(texts)
    if inner is not None and depth:
        return _check_in(inner, depth - 1)
    return Check(_safe(whole), passes=True, fails=True) if is_check(texts) else None


def _script_of(texts: Sequence[str]) -> str | None:
    """What `bash -c` is given."""
    if not texts or name_of(texts[0]) not in SHELLS:
        return None
    for place, each in enumerate(texts[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c", each):
            return texts[place + 1]
        if not each.startswith("-"):
            break
    return None


def _tells(line: Sequence[_Step], pipefail: bool) -> bool:
    """Whether exit code 0 of *line* means that each check in it ran and passed."""
    for place, each in enumerate(line):
        following = line[place + 1].connector if place + 1 < len(line) else ""
        piped = following in {"|", "|&"}
        if (place and each.connector == "||") or not each.plain:
            return False
        if each.check and ((piped and not pipefail) or not each.check.passes):
            return False
        # `set -e` does not end the script for what stands before "&&".
        if each.check and following == "&&" and _goes_on(line[place + 2 :]):
            return False
        # After a bracket the rest of the pipeline hides what is in it.
        if each.connector == ")" and _hidden(line[place:]) and not pipefail:
            return False
    return True


def _goes_on(rest: Sequence[_Step]) -> bool:
    return any(each.connector in {";", "\n"} and each.words for each in rest)


def _hidden(rest: Sequence[_Step]) -> bool:
    return not rest[0].words and len(rest) > 1 and rest[1].connector in {"|", "|&"}


def _text(line: Sequence[_Step]) -> str:
    """The checks in *line*, with the folders that they run in; all else is left out."""
    parts: list[str] = []
    for each in line:
        words = [word.text for word in each.words]
        if each.check:
            part = each.check.text
        elif words[:1] == ["cd"] and len(words) == 2:
            part = _safe(each.words)
        elif each.harmless or each.connector in {"|", "|&"}:
            continue
        else:
            part = "…"
        if part != "…" or parts[-1:] != ["…"]:
            parts.append(part)
    return one_line(" && ".join(parts), TEXT_LIMIT)


# Secrets.

_SENSITIVE = (
    "token|secret|passw|passphrase|pwd|api[-_.]?key|auth|credential|private[-_]?key|access[-_]?key"
    "|bearer|cookie"
)
_SECRET_OPTION = re.compile(rf"-[^=]*(?:{_SENSITIVE})[^=]*", re.IGNORECASE)
_PATTERNS = (
    (re.compile(r"(//)[^/@\s'\"]+@"), r"\1…@"),
    (
        re.compile(
            r"((?:authorization|cookie|x-[\w-]+)\s*:\s*|[\w-]*(?:key|token)\s*:\s+)\S.*",
            re.IGNORECASE,
        ),
        r"\1…",
    ),
    (re.compile(rf"([\w.-]*(?:{_SENSITIVE})[\w.-]*=)[^\s&'\"]+", re.IGNORECASE), r"\1…"),
    (
        re.compile(
            r"\b(?:sk-|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AKIA|eyJ|npm_|pypi-|hf_)[\w.-]{8,}"
        ),
        "…",
    ),
)


def _safe(words: Sequence[Word]) -> str:
    """The command as text, without the values of assignments and of what looks secret."""
    shown: list[str] = []
    hide = False
    for word in words:
        text = word.raw
        if hide and not word.text.startswith("-"):
            text = "…"
        elif match := ASSIGNMENT.match(word.text):
            text = f"{match[0]}…"
        hide = False
        if match := _SECRET_OPTION.match(word.text):
            hide = "=" not in word.text
            text = word.text if hide else f"{match[0]}=…"
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        shown.append(text)
    return one_line(" ".join(shown), TEXT_LIMIT)
