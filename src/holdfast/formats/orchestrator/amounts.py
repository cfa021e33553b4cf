"""Money and durations, as the state has them: as text.

    money    = "$" digits [ "." digits ]                      $10, $0.75, $1,250.50
    duration = [ N "d" ] [ N "h" ] [ N "m" ] [ N "s" ]         2h, 0h 34m 8s, 15m 23s, 90m, 1d 2h

Money is in US dollars, with commas between thousands or without, and up to six decimals. A duration
has at least one of its parts, each once, in this order, with a space between them; a part may be
more than the next larger one (90m). That is what `inspect` asks for. What people write is read, too:
"10", "10 USD" and "US$ 10"; "2 hours", "1h30m" and "1.5h".

Written is $10 for whole dollars and else at least cents ($0.75); an elapsed time with its hours
(0h 34m 8s), the time of a task from its minutes on (15m 23s), a limit with what it has (2h).
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

MONEY = "an amount in US dollars, such as $10 or $0.75"
DURATION = "a duration, such as 2h or 0h 34m 8s"

_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12}"
_MONEY = re.compile(rf"\$({_NUMBER})(\.[0-9]{{1,6}})?")
_MEANT_MONEY = re.compile(
    rf"(?:US ?)?\$? ?({_NUMBER})(\.[0-9]{{1,6}})?(?: ?(?:USD|\$|dollars?))?", re.IGNORECASE
)
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile(
    r"(?=[0-9])(?:\d+d)?(?:(?:^| )\d+h)?(?:(?:^| )\d+m)?(?:(?:^| )\d+s)?", re.ASCII
)
_MEANT_PART = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?"
    r"(?:(d)(?:ays?)?|(h)(?:(?:ou)?rs?)?|(m)(?:in(?:ute)?s?)?|(s)(?:ec(?:ond)?s?)?)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[ ,]*")
_LONGEST = timedelta(days=36_500)


def money(text: str, *, exactly: bool = False) -> Decimal:
    """The dollars in *text*, or ValueError. *exactly* is as the state has them, without tolerance."""
    found = (_MONEY if exactly else _MEANT_MONEY).fullmatch(text if exactly else text.strip())
    if not found:
        raise ValueError(MONEY)
    return Decimal(found[1].replace(",", "") + (found[2] or ""))


def dollars(amount: Decimal) -> str:
    """As the state has it: $10, $0.75."""
    whole, _, cents = f"{amount:f}".partition(".")
    cents = cents.rstrip("0")
    return f"${whole}.{cents:0<2}" if cents else f"${whole}"


def duration(text: str, *, exactly: bool = False) -> timedelta:
    """The time in *text*, in whole seconds, or ValueError; *exactly* as above."""
    if exactly and not _DURATION.fullmatch(text):
        raise ValueError(DURATION)
    parts = _parts(text.strip())
    seconds = sum(Decimal(number) * _SECONDS[unit] for number, unit in parts)
    units = [unit for _, unit in parts]
    if not parts or units != sorted(set(units), key=list(_SECONDS).index):
        raise ValueError(DURATION)
    if seconds > Decimal(_LONGEST.total_seconds()):
        raise ValueError(f"{DURATION}, of at most {_LONGEST.days} days")
    return timedelta(seconds=int(seconds))


def _parts(text: str) -> list[tuple[str, str]]:
    """The numbers with their units; none where something else stands between them."""
    found, at = [], 0
    while part := _MEANT_PART.match(text, at):
        found.append((part[1], next(unit for unit in part.groups()[1:] if unit).lower()))
        at = _BETWEEN.match(text, part.end()).end()  # type: ignore[union-attr]  # it may be empty
    return found if at == len(text) else []


def elapsed(time: timedelta) -> str:
    """With its hours: 0h 34m 8s."""
    minutes, seconds = divmod(_whole(time), 60)
    return f"{minutes // 60}h {minutes % 60}m {seconds}s"


def taken(time: timedelta) -> str:
    """From its minutes on, with hours where there are some: 15m 23s, 1h 2m 3s."""
    text = elapsed(time)
    return text.removeprefix("0h ")


def brief(time: timedelta) -> str:
    """A limit, with the parts that it has: 2h, 1h 30m."""
    parts = [each for each in elapsed(time).split() if not each.startswith("0")]
    return " ".join(parts) or "0s"


def _whole(time: timedelta) -> int:
    return max(int(min(time, _LONGEST).total_seconds()), 0)
