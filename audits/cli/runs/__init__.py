"""The commands that work on ledgers: `arena runs`."""
