"""The sparse vector technique: AboveThreshold, BetweenThresholds and their variants."""
