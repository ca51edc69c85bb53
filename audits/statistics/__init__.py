"""Tests, confidence limits and estimators."""
