"""Private prediction from expert advice."""
