"""Questions and turns, for whoever decides about them."""
