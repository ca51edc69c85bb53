"""Private counting: the binary mechanism and histograms."""
