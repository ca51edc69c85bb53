"""Predictors under Figure 1 that answer every query from the votes of one teacher per training example."""
