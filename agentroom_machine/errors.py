"""What can go wrong, in words that say what to do."""

from __future__ import annotations


class Trouble(Exception):
    """Something that the person at this machine can mend; ``exit_code`` is what the command ends with."""

    exit_code = 1


class Offline(Trouble):
    """The server can't be reached, or can't answer now: trying again is right."""

    exit_code = 3


class Rejected(Trouble):
    """The server answered no: trying the same again is wrong."""

    def __init__(self, status: int, code: str, title: str, detail: str = "") -> None:
        super().__init__(f"{title} {detail}".strip())
        self.status, self.code, self.detail = status, code, detail or title
        self.exit_code = 4 if status == 401 else 1
