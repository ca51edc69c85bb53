"""Audits: play the neighbouring-world game many times and certify a lower bound on the privacy lost."""
