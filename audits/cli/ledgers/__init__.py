"""The commands that work on ledgers."""
