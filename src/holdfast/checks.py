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
from holdfast.programs import SHELLS, hides_result, is_check, name_of
from holdfast.redaction import is_secret_name, redacted
from holdfast.shell import ASSIGNMENT, Simple, Word

TEXT_LIMIT = 200


class Check(NamedTuple):
    """The checks of a command line that are reported together."""

    text: str  # their commands, without secrets; "…" stands for others on the same line
    passes: bool  # exit code 0 says that they passed
    fails: bool  # another exit code says that they failed


class _Options(NamedTuple):
    """What `set` has switched on in a shell; None where that cannot be told."""

    errexit: bool | None = False
    pipefail: bool | None = False
    runs: bool | None = True  # nothing runs with `set -n`


_UNKNOWN = _Options(None, None, None)


def check_in(source: str) -> Check | None:
    """The last check that the command line *source* runs; None when it runs none."""
    if len(source) > shell.LONGEST:
        return None
    return _check_in(source, 3, _Options())


def _check_in(source: str, depth: int, begun: _Options) -> Check | None:
    try:
        commands, whole = shell.split(source)
    except shell.Unclear:
        return None
    steps = _with_options([_step(each, depth) for each in commands], begun)
    last = max((place for place, each in enumerate(steps) if each.check), default=None)
    if last is None:
        return None
    begin = next((at for at in range(last, 0, -1) if _parts(steps, at)), 0)
    end = next((at for at in range(last + 1, len(steps)) if _parts(steps, at)), None)
    line = steps[begin:end]
    alone = end is None or not any(each.words for each in steps[end:])
    alone = alone and (end is None or steps[end].connector != "&")
    trapped = any(each.traps for each in steps)
    passes = whole and alone and not trapped and _tells(line)
    fails = (
        passes
        and all(each.options.errexit is not None or each.harmless for each in steps[:begin])
        and all(each.check.fails if each.check else each.harmless for each in line)
    )
    return Check(_text(line), passes, fails)


class _Step(NamedTuple):
    connector: str
    words: Sequence[Word]  # without what only surrounds the command
    whole: Sequence[Word]
    check: Check | None  # without a text where that is the command
    plain: bool  # no loop, condition or negation stands before it
    opens: int  # how many blocks begin with it, less those that end
    options: _Options = _Options()  # of the shell when it runs

    @property
    def harmless(self) -> bool:
        """Whether it practically never fails, so that a failure of the line is another's."""
        return not self.words or self.words[0].text in _HARMLESS

    @property
    def traps(self) -> bool:
        """Whether it may change what the whole line ends with."""
        texts = [each.text for each in self.words]
        return texts[:1] == ["trap"] and any("exit" in each for each in texts[1:])


def _parts(steps: Sequence[_Step], at: int) -> bool:
    """Whether what comes before *at* has no say in what the rest ends with."""
    connector = steps[at].connector
    return connector == "&" or (
        connector in {";", "\n"} and steps[at - 1].options.errexit is not True
    )


def _with_options(steps: Sequence[_Step], options: _Options) -> list[_Step]:
    """The steps, each with the options of the shell that are in effect when it runs."""
    outer: list[tuple[_Options, _Options | None]] = []
    before: _Options | None = None  # what holds if a list with "&&" did not get to its `set`
    blocks, found = 0, list[_Step]()
    for place, each in enumerate(steps):
        if each.connector not in {"&&", "|", "|&"} and before is not None:
            options, before = _either(before, options), None
        if each.connector == "(":
            outer.append((options, before))
            before = None
        elif each.connector == ")":
            # Without an opening one it is of a `case`.
            options, before = outer.pop() if outer else (_UNKNOWN, None)
        blocks += each.opens
        found.append(each._replace(options=options))
        changed = _changed(each, options)
        if changed == options:
            continue
        following = steps[place + 1].connector if place + 1 < len(steps) else ""
        if blocks > 0 or not each.plain or {each.connector, following} & _APART:
            options = _either(options, changed)
        else:
            before = options if each.connector == "&&" else before
            options = changed
    return found


# Beside these, a `set` is perhaps not run, or in a shell of its own.
_APART = frozenset({"||", "|", "|&", "&"})


def _either(one: _Options, other: _Options) -> _Options:
    return _Options(*(a if a == b else None for a, b in zip(one, other, strict=True)))


_SOURCES = frozenset({"source", ".", "eval", "setopt", "unsetopt"})
_LONG_NAMES = frozenset({"errexit", "pipefail", "noexec"})


def _changed(step: _Step, options: _Options) -> _Options:
    """The options after *step*."""
    texts = [each.text for each in step.words]
    if texts and texts[0] in {"builtin", "command"}:
        del texts[0]
    if texts[:1] == ["set"]:
        return _switched(texts[1:], options)
    if texts[:1] == ["shopt"] and not _LONG_NAMES.isdisjoint(texts):
        return _UNKNOWN
    if texts and texts[0] in _SOURCES:
        environment = len(texts) > 1 and texts[1].endswith("activate")
        return options if environment else options._replace(errexit=None, pipefail=None)
    return options


def _switched(rest: Sequence[str], options: _Options) -> _Options:
    """The options after `set` with *rest*."""
    names = iter(rest)
    for word in names:
        if word.startswith(("$", "`")):
            return _UNKNOWN
        if word in {"--", "-"} or word[:1] not in {"-", "+"}:
            break
        on = word[0] == "-"
        for letter in word[1:20]:
            name = next(names, "") if letter == "o" else letter
            if name.startswith("$"):
                return _UNKNOWN
            if name in {"e", "errexit"}:
                options = options._replace(errexit=on)
            elif name in {"n", "noexec"}:
                options = options._replace(runs=not on)
            elif name == "pipefail":
                options = options._replace(pipefail=on)
    return options


_HARMLESS = frozenset(
    {"cd", "pushd", "popd", "export", "set", "source", ".", "echo", "printf", "true", ":", "pwd"}
    | {"date", "sleep", "ulimit", "umask", "unset", "shopt", "trap", "mkdir", "clear"}
    | {"tail", "head", "tee", "cat", "sed", "less", "sort", "cut", "ts"}
)
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{"})


_OPENS = frozenset({"{", "if", "while", "until", "for", "case", "select", "function"})
_CLOSES = frozenset({"fi", "done", "}", "esac"})


def _step(simple: Simple, depth: int) -> _Step:
    begun, plain, opens = 0, True, 0
    for word in simple.words:
        if word.text not in _KEYWORDS and not ASSIGNMENT.match(word.text):
            break
        plain = plain and word.text not in _KEYWORDS
        opens += word.text in _OPENS
        begun += 1
    words = simple.words[begun:]
    if words and (words[0].text in _OPENS or words[0].text in _CLOSES):
        plain = False
        opens += 1 if words[0].text in _OPENS else -1
    return _Step(simple.connector, words, simple.words, _of(simple, words, depth), plain, opens)


def _of(simple: Simple, words: Sequence[Word], depth: int) -> Check | None:
    texts = [each.text for each in words]
    inner = _script_of(texts)
    if inner is not None and depth:
        return _check_in(inner[0], depth - 1, inner[1])
    if not is_check(texts):
        return None
    tells = not hides_result([each.text for each in simple.words])
    return Check("", passes=tells, fails=tells)


def _script_of(texts: Sequence[str]) -> tuple[str, _Options] | None:
    """What `bash -c` is given, and the options that it begins with."""
    if not texts or name_of(texts[0]) not in SHELLS:
        return None
    rest = iter(texts[1:])
    given, script = list[str](), False
    for each in rest:
        if each[:1] not in {"-", "+"}:
            return (each, _switched(given, _Options())) if script else None
        given.append(each)
        if not each.startswith("--"):
            script = script or "c" in each
            if each.endswith("o"):
                given.append(next(rest, ""))
    return None


def _tells(line: Sequence[_Step]) -> bool:
    """Whether exit code 0 of *line* means that each check in it ran and passed."""
    # Where lists follow one another, `set -e` is what ends the script.
    relied = [at for at, each in enumerate(line) if at and _begins_list(each)]
    latest = relied[-1] if relied else 0
    for place, each in enumerate(line):
        following = line[place + 1].connector if place + 1 < len(line) else ""
        piped = following in {"|", "|&"} and each.options.pipefail is not True
        if (place and each.connector == "||") or not each.plain or each.options.runs is not True:
            return False
        if each.check and (piped or not each.check.passes):
            return False
        # It does not for what stands before "&&".
        if each.check and following == "&&" and latest >= place + 2:
            return False
        # After a bracket the rest of the pipeline hides what is in it.
        if each.connector == ")" and not each.words and (piped or (following == "&&" and relied)):
            return False
    return True


def _begins_list(step: _Step) -> bool:
    return step.connector in {";", "\n"} and bool(step.words)


def _text(line: Sequence[_Step]) -> str:
    """The checks in *line*, with the folders that they run in; all else is left out."""
    parts: list[str] = []
    room = TEXT_LIMIT
    for each in line:
        words = [word.text for word in each.words]
        if each.check:
            part = each.check.text or _safe(each.whole)
        elif words[:1] == ["cd"] and len(words) == 2:
            part = _safe(each.words)
        elif each.harmless or each.connector in {"|", "|&"}:
            continue
        else:
            part = "…"
        if part != "…" or parts[-1:] != ["…"]:
            parts.append(part)
            room -= len(part)
        if room < 0:
            break
    return one_line(" && ".join(parts), TEXT_LIMIT)


_OPTION = re.compile(r"(--?[^\s=]++)(=|\Z|\s)")
_NAMES_USER = frozenset({"-u", "-U", "--user", "--username", "--proxy-user", "--login"})
_LONGEST_WORD = 400


def _safe(words: Sequence[Word]) -> str:
    """The command as text, without the values of assignments and of what looks secret."""
    shown: list[str] = []
    room, before, hide = TEXT_LIMIT, "", False
    for word in words:
        shown.append("…" if hide else _safe_word(word, before))
        option = None if hide else _OPTION.match(word.text)
        hide = bool(option and not option[2] and is_secret_name(option[1]))
        before = word.text
        room -= len(shown[-1])
        if room < 0:
            break
    return one_line(" ".join(shown), TEXT_LIMIT)


def _safe_word(word: Word, before: str) -> str:
    if match := ASSIGNMENT.match(word.text):
        return f"{match[0]}…" if len(match[0]) <= _LONGEST_WORD else "…"
    if len(word.raw) > _LONGEST_WORD:
        return "…"
    option = _OPTION.match(word.text)
    if option and is_secret_name(option[1]):
        return f"{option[1]}{option[2]}…" if option[2] else option[1]
    if before in _NAMES_USER and ":" in word.text:
        return f"{word.text.partition(':')[0]}:…"
    return redacted(word.raw)
