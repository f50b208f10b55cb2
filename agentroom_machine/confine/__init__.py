"""Keeps what an agent runs away from the network, from secrets, and from everything but its working directory."""
