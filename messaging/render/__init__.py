"""How what was said and done looks: the same for every reader, on the page and on the socket."""
