"""The registry of players, and players built from text."""
