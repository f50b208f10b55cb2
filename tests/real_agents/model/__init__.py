"""A scripted model: real coding agents think that it is their maker's, and do what the scenes say."""
