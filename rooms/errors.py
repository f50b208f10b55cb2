"""What a rule answers when it can't do what was asked. Each door turns them into its own words, in one place."""

from __future__ import annotations


class RuleError(Exception):
    """Its text says what to do, in words for the person or program that asked."""

    code = "error"

    def __init__(self, detail: str = "", *, field: str = "", code: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        if code:
            self.code = code


class NotFound(RuleError):
    """Absent or forbidden: the two look the same."""

    code = "not_found"


class Refused(RuleError):
    """The actor may see the thing, but not do this with it."""

    code = "refused"


class Invalid(RuleError):
    """The input is wrong; ``field`` names which."""

    code = "invalid"


class Conflict(RuleError):
    """Somebody was first, or the same key came with another content."""

    code = "conflict"
