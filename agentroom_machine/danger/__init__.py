"""Reads what an agent wants to do, and says whether it pushes, deletes, spends or handles credentials."""

from __future__ import annotations

from agentroom_machine.danger.command import classify
from agentroom_machine.danger.policy import Policy, load
from agentroom_machine.danger.reading import Finding, Kind, Reading
from agentroom_machine.danger.tools import classify_file, classify_mcp, classify_url

__all__ = ["Finding", "Kind", "Policy", "Reading", "classify", "classify_file", "classify_mcp", "classify_url", "load"]
