"""The room's page, its fragments and its files."""
