"""Every door of the server and who gets through it: a scene, the table of pages, the table of token doors."""
