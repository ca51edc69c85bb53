"""Figures of Li, Wang, Ye: private online learning."""
