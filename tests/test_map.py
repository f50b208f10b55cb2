"""The map in pyproject.toml names every module of the server."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent.parent
SERVER = ("agentroom", "rooms", "messaging", "approvals")
NOWHERE = re.compile(r"\.(migrations(\.\w+)?|apps)$")
"""Django's own places, which nobody imports."""


def named() -> set[str]:
    settings = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["importlinter"]
    [layers] = [contract["layers"] for contract in settings["contracts"] if contract["id"] == "map"]
    return {name.strip(" ()") for line in layers for name in re.split("[|:]", line)}


def modules() -> Iterator[str]:
    for package in SERVER:
        for file in (HERE / package).rglob("*.py"):
            module = ".".join(file.relative_to(HERE).with_suffix("").parts)
            if file.name != "__init__.py":
                yield module
            elif file.read_text().strip():
                yield module.removesuffix(".__init__")


def test_every_module_of_the_server_is_on_the_map() -> None:
    lines = named()
    lost = [
        module
        for module in modules()
        if not NOWHERE.search(module) and not any(f"{module}.".startswith(f"{name}.") for name in lines)
    ]
    assert not lost


def test_the_map_names_nothing_that_is_not_there() -> None:
    there = set(modules()) | {".".join(module.split(".")[:2]) for module in modules()}
    assert not {name for name in named() if name.split(".")[0] in SERVER} - there
