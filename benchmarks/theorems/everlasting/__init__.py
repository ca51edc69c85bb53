"""Figures of Private Everlasting Prediction (PEP)."""
