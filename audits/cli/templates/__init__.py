"""The players that `arena new` writes. Each file is complete, so the gate checks it like all code."""
