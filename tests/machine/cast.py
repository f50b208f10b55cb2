"""What the tests of the owner's side share: the kitchen, Alice's agents, and offers for them."""

from __future__ import annotations

from pathlib import Path

from agentroom_machine import wire


def agent(
    workdir: Path | str, *, id: int = 1, handle: str = "claude", runtime: str = "demo", **more: object
) -> wire.AgentConfig:
    return wire.AgentConfig.model_validate(
        {"id": id, "handle": handle, "display_name": handle, "runtime": runtime, "workdir": str(workdir), **more}
    )


def offer(turn_id: int, config: wire.AgentConfig, body: str = "hello", **more: object) -> wire.Offer:
    return wire.Offer.model_validate(
        {
            "turn_id": turn_id,
            "claim_id": f"claim-{turn_id}",
            "agent_id": config.id,
            "room_id": 7,
            "room": "kitchen",
            "memory": 1,
            "principal": "bob",
            "principal_is_owner": False,
            "author": "bob",
            "body": body,
            "agent": config,
            **more,
        }
    )
