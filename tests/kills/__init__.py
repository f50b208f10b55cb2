"""Killing what runs, at chosen instants and at random ones, and comparing what the room shows with what was done."""
