"""Every error that Holdfast raises on purpose, each with its data as fields."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the fast tier loads this module, and `typing` is not worth it
    from os import PathLike
    from typing import TypeAlias

AnyPath: TypeAlias = "str | PathLike[str]"


class HoldfastError(Exception):
    """A cause, and where it helps, a next step. The command line prints both; hooks log them."""

    exit_code = 1  # of a command that fails for it

    def __init__(self, cause: str, *, hint: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.hint = hint


class BadHookInput(HoldfastError):
    """Stdin held no hook event that can be read."""


class _FileError(HoldfastError):
    """What is wrong with a file."""

    said = "{path}: {reason}"
    advice = ""

    def __init__(self, path: AnyPath, reason: str = "") -> None:
        words = {"path": path, "reason": reason}
        super().__init__(self.said.format(**words), hint=self.advice.format(**words))
        self.path = path
        self.reason = reason


class SettingsInvalid(_FileError):
    """A settings file is wrong; the defaults apply."""

    advice = "Correct the file; until then the defaults apply."


class StateUnreadable(_FileError):
    """A state file cannot be read as its format."""

    advice = "See what is wrong: holdfast inspect {path}"


class StateOutOfReach(StateUnreadable):
    """The system did not let us read a file, which may be as good as ever: it stays where it is."""

    advice = "It was left as it is. Check its owner and the disk: ls -ld {path}"


class StateLocked(HoldfastError):
    """Somebody else held the lock for the whole time that we were willing to wait."""

    def __init__(self, path: AnyPath, waited: float) -> None:
        super().__init__(
            f"{path} was held by another process for {waited:g} s",
            hint="Nothing was changed. Try again; if this persists, look for a process that hangs.",
        )


class StateUnwritable(_FileError):
    """The state could not be written; what was there before is untouched."""

    said = "{path} could not be written: {reason}"


class StateChanged(_FileError):
    """Somebody else wrote a state file between our look at it and our write; theirs stands."""

    said = "{path} was changed by another process just now"
    advice = "Nothing was changed by this command. Run it again."


class GitRefused(HoldfastError):
    """git did not do what it was asked to."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(f"git {command} refused: {said}")


class NewerRecord(HoldfastError):
    """A record of ours that a newer Holdfast has written, and that is left alone."""


class NoSuchWorkflow(HoldfastError):
    """A name that no workflow here has, or no workflow at all."""


class IllegalMove(HoldfastError):
    """A command that the workflow's present state does not allow."""


class DefinitionInvalid(HoldfastError):
    """A file that is to define a workflow does not."""

    def __init__(self, path: AnyPath, problems: tuple[str, ...]) -> None:
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{path} does not define a workflow:{listed}", hint="Correct the file.")
        self.path = path
        self.problems = problems
