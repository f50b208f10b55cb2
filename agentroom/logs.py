"""How a line of the log reads: as it was written, but for the secrets that we hand out."""

from __future__ import annotations

import logging
import re

from rooms import tokens

_PREFIXES = "|".join((tokens.MACHINE, tokens.CONNECTION, tokens.INVITE, tokens.SIGN_IN))
_SECRET = re.compile(rf"((?:{_PREFIXES})|/reset/key/[0-9A-Za-z]+-|/confirm-email/)[\w%:-]{{16,}}")


class Formatter(logging.Formatter):
    """Django logs the path of what it refuses, and the path of an invitation or of a sign-in link is the secret."""

    def format(self, record: logging.LogRecord) -> str:
        # The finished line: a traceback can quote one too.
        return _SECRET.sub(r"\1…", super().format(record))
