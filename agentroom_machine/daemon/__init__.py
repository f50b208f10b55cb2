"""What runs on the owner's machine: asks the server for work, drives agents, and tells what happened."""
