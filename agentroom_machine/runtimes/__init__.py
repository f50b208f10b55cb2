"""How to start each runtime so that it asks before it acts."""

from agentroom_machine.runtimes.launch import Launch, NotReady, Surroundings, launch, shown_name

__all__ = ["Launch", "NotReady", "Surroundings", "launch", "shown_name"]
