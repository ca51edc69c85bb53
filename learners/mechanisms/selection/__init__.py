"""Private selection: the exponential mechanism and covers chosen by it."""
