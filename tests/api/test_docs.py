"""What docs/api.md shows is what the server does, and its page works in a browser under our policy."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

from agentroom.api import api
from tests.live import Live
from tests.live.processes import ROOT
from tests.mcp.peers import kitchen_of

TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^```console\n\$ (curl .*?)\n(\{.*?)\n```$", TEXT, re.S | re.M)


def test_the_guide_names_each_operation() -> None:
    told = set(re.findall(r"^\| `([A-Z]+ /api/[^`]*)`", TEXT, re.M))
    paths = api.get_openapi_schema()["paths"]
    assert told == {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}


def test_the_guides_calls_answer_as_it_shows(live: Live) -> None:
    assert len(CALLS) == len(re.findall(r"\$ curl", TEXT)) == 10
    with kitchen_of(live) as kitchen:
        environment = {
            "PATH": os.environ["PATH"],
            "AGENTROOM_URL": live.url,
            "AGENTROOM_TOKEN": kitchen.tokens["claude"],
            "ACCOUNT_TOKEN": live.manage_json("token", "--account", "alice")["token"],
        }
        for command, shown in CALLS:
            done = subprocess.run(
                ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60, check=True
            )
            told: dict[str, Any] = json.loads(done.stdout)
            # Each name that the guide shows before it breaks off is in the answer, in this order.
            names = re.findall(r'"(\w+)":', re.sub(r"\[.*", "", shown))
            assert list(told)[: len(names)] == names, (command, told)
