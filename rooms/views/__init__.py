"""Pages about people, rooms, agents and machines: find who asks, call one rule, render."""
