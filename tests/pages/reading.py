"""What a test looks at in a page."""

from __future__ import annotations

import re
from html import unescape
from typing import Any


def text(answer: Any) -> str:
    """The page's words, without its tags."""
    page = answer.content.decode()
    page = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def value(answer: Any, field_id: str) -> str:
    """What stands in an input."""
    found = re.search(rf'<input[^>]*id="{field_id}"[^>]*>', answer.content.decode())
    assert found, f"no input {field_id}"
    given = re.search(r'value="([^"]*)"', found[0])
    return unescape(given[1]) if given else ""


def error_beside(answer: Any, field_id: str) -> str:
    """The error of a field, provided that the field names it as its description."""
    page = answer.content.decode()
    field = re.search(rf'<(?:input|select|textarea)[^>]*id="{field_id}"[^>]*>', page)
    assert field, f"no field {field_id}"
    assert 'aria-invalid="true"' in field[0]
    described = re.search(r'aria-describedby="([^"]*)"', field[0])
    assert described, field[0]
    assert f"{field_id}_error" in described[1].split()
    error = re.search(rf'id="{field_id}_error">(.*?)</div>', page, re.S)
    assert error
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", error[1])).split())
