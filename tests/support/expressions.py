"""Every regular expression of the source, found in its syntax tree, and text that a slow one stumbles over."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from re import _parser as parser  # its tree of an expression
from types import ModuleType
from typing import Any, NamedTuple

_ROOT = Path(__file__).parents[2]
_FOLDERS = {"src/holdfast": "holdfast", "hooks": "holdfast.hooks", "handlers": "holdfast.handlers"}
_USES = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")


class Expression(NamedTuple):
    """One expression, where it stands, and how it is used."""

    where: str
    name: str  # its file and what it is called there
    pattern: re.Pattern[Any]
    uses: frozenset[str]


class Found(NamedTuple):
    expressions: list[Expression]
    made_at_work: list[str]  # where an expression is put together from what a function has got


class _Name(NamedTuple):
    """How a module uses a name."""

    uses: set[str]  # the attributes that are asked of it
    passed_on: bool  # it is also used in some other way


class _Source(NamedTuple):
    tree: ast.Module
    module: ModuleType
    uses: dict[str, _Name]


@cache
def everywhere() -> Found:
    """All of them, in the order of their places."""
    found = Found([], [])
    sources = {}
    for folder, package in _FOLDERS.items():
        for path in sorted((_ROOT / folder).rglob("*.py")):
            module = _module(path.relative_to(_ROOT / folder), package)
            tree = ast.parse(path.read_bytes())
            sources[path] = _Source(tree, module, _uses(tree))
    for path in sources:
        _add(path, sources, found)
    return found


def _module(path: Path, package: str) -> ModuleType:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    return importlib.import_module(".".join([package, *parts]))


def _add(path: Path, sources: dict[Path, _Source], found: Found) -> None:
    tree, module, uses_here = sources[path]
    names = _names(tree)
    for call in ast.walk(tree):
        use = _use(call)
        if use is None:
            continue
        name = names.get(id(call), "")
        where = f"{path.relative_to(_ROOT)}:{call.lineno}"
        try:
            pattern = _pattern(call, module)
        except NameError:
            found.made_at_work.append(where)
            continue
        here_alone = name.startswith("_")
        where_used = [uses_here] if here_alone else [each.uses for each in sources.values()]
        uses = {use} if use != "compile" else _uses_of(name, where_used)
        found.expressions.append(
            Expression(where, f"{path.relative_to(_ROOT)}:{name}", pattern, frozenset(uses))
        )


def _use(call: ast.AST) -> str | None:
    """Which function of `re` is called."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)):
            return name if name in {"compile", *_USES} else None
        case ast.Call(func=ast.Name(id="pattern")):  # of holdfast.patterns
            return "compile"
    return None


def _pattern(call: ast.Call, module: ModuleType) -> re.Pattern[Any]:
    """It, with what the module's own names stand for."""
    flags = [each.value for each in call.keywords if each.arg == "flags"]
    at = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}
    place = at.get(call.func.attr if isinstance(call.func, ast.Attribute) else "compile")
    if place is not None:
        flags += call.args[place : place + 1]
    text, *given = (
        eval(compile(ast.Expression(each), "<expression>", "eval"), vars(module))  # noqa: S307
        for each in (call.args[0], *flags)
    )
    return text if isinstance(text, re.Pattern) else re.compile(text, *given)


def _names(tree: ast.Module) -> dict[int, str]:
    """The name that each compiled expression is given."""
    return {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _uses(tree: ast.Module) -> dict[str, _Name]:
    """How *tree* uses each of its names."""
    uses, loads, called = defaultdict[str, set[str]](set), Counter[str](), Counter[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=use):
                called[name] += 1
                uses[name].add(use)
            case ast.Name(id=name, ctx=ast.Load()):
                loads[name] += 1
    return {name: _Name(uses[name], loads[name] != called[name]) for name in loads | called}


def _uses_of(name: str, trees: Iterable[dict[str, _Name]]) -> set[str]:
    """How the trees use what is called *name*. "search" is the hardest, and holds for what is passed on."""
    found = [tree[name] for tree in trees if name in tree]
    uses = {use for each in found for use in each.uses}
    return uses & set(_USES) if uses and not any(each.passed_on for each in found) else {"search"}


# What trips them: many of what a repetition takes, behind what leads there, and then what it does not take.

_PIECES = (
    *("a", "A", "0", "é", " ", "\t", "\n", "\r", "\f", "\u00a0", "\u200b", "²"),
    *"-–_*#`~.,:;!?/\\|+=<>()[]{}\"'@&%$^",
    *("a ", "- ", "* ", "| ", "|-", "1.", "a.", "a/", "](", "[a", "a:", ": ", "a=", "-a", "\n ", "a\n"),
    *("<!--", "<a", "</", "``", "~~", "** ", "✅", "\ufe0f", "@a", "$(", "\x1b[", "\x1b]", "%20"),
)  # fmt: skip
_ENDS = ("", "\x00")
_REPEATS = {parser.MAX_REPEAT, parser.MIN_REPEAT, parser.POSSESSIVE_REPEAT}
_OFTEN = 20  # a repetition that ends sooner costs nothing


def attacks(pattern: re.Pattern[Any], length: int) -> Iterator[Any]:
    """Texts of about *length* characters, each with another repetition for *pattern* to lose itself in."""
    for begin, piece in dict.fromkeys([*_own(pattern), *(("", piece) for piece in _PIECES)]):
        for end in _ENDS:
            text = f"{begin}{piece * (length // len(piece))}{end}"
            yield text.encode() if isinstance(pattern.pattern, bytes) else text


def _own(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """For each repetition of *pattern*, text that leads to it, and text that it takes."""
    text = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    yield from _repeated(parser.parse(text, pattern.flags & ~re.UNICODE), "")


def _repeated(tree: Any, lead: str) -> Iterator[tuple[str, str]]:
    for kind, value in tree:
        for inner in _inner(kind, value):
            yield from _repeated(inner, lead)
        if kind in _REPEATS and value[1] > _OFTEN:
            yield from ((lead, piece) for piece in _taken(value[2]) if piece)
        lead += _example([(kind, value)])


def _inner(kind: Any, value: Any) -> list[Any]:
    if kind in _REPEATS:
        return [value[2]]
    if kind is parser.SUBPATTERN:
        return [value[3]]
    if kind is parser.BRANCH:
        return list(value[1])
    if kind is parser.ATOMIC_GROUP:
        return [value]
    return [value[1]] if kind in {parser.ASSERT, parser.ASSERT_NOT} else []


def _taken(tree: Any) -> Iterator[str]:
    """What a repetition takes, in a few ways."""
    yield _example(tree)
    if len(tree) == 1:
        yield from (piece for piece in _PIECES if len(piece) == 1 and _takes(tree[0], piece))


def _example(tree: Any) -> str:
    """Text that *tree* takes."""
    return "".join(_example_of(kind, value) for kind, value in tree)


def _example_of(kind: Any, value: Any) -> str:
    if kind is parser.LITERAL:
        return chr(value)
    if kind in _REPEATS:
        return _example(value[2]) * value[0]
    if kind is parser.BRANCH:
        return _example(value[1][0])
    if kind is parser.SUBPATTERN:
        return _example(value[3])
    if kind is parser.ATOMIC_GROUP:
        return _example(value)
    taken = (piece for piece in _PIECES if len(piece) == 1 and _takes((kind, value), piece))
    own = (chr(each) for _, each in value if isinstance(each, int)) if kind is parser.IN else ()
    return next(taken, next(iter(own), ""))


def _takes(node: tuple[Any, Any], character: str) -> bool:
    """Whether *node* of a tree, where it is one character, is this one."""
    kind, value = node
    if kind is parser.ANY:
        return character != "\n"
    if kind is parser.LITERAL:
        return chr(value) == character
    if kind is parser.NOT_LITERAL:
        return chr(value) != character
    if kind is not parser.IN:
        return False
    turned = value[0][0] is parser.NEGATE
    return turned != any(_is_in(each, character) for each in value)


_CATEGORIES = {
    parser.CATEGORY_SPACE: r"\s",
    parser.CATEGORY_NOT_SPACE: r"\S",
    parser.CATEGORY_DIGIT: r"\d",
    parser.CATEGORY_NOT_DIGIT: r"\D",
    parser.CATEGORY_WORD: r"\w",
    parser.CATEGORY_NOT_WORD: r"\W",
}


def _is_in(member: tuple[Any, Any], character: str) -> bool:
    kind, value = member
    if kind is parser.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    if kind is parser.CATEGORY:
        return re.match(_CATEGORIES[value], character) is not None
    return kind is parser.LITERAL and chr(value) == character
