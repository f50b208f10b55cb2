"""An agent without a model: it really works in a small git repository, and asks before it acts."""

from agentroom_machine.demo_agent.repository import prepare_demo_repository

__all__ = ["prepare_demo_repository"]
