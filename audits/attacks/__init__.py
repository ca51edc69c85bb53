"""Attacks on utility or confidentiality. Their result is a figure with confidence limits, not a certificate."""
