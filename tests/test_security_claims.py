"""Each claim of docs/security.md names its test, and that test is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
PAGE = (HERE / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


def test_every_line_of_every_table_names_a_test() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| guaranteed")]
    assert len(lines) > 30
    assert not [line for line in lines if "::test_" not in line]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert name in found
