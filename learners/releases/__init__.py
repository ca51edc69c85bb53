"""Mechanisms that release one value: noisy counts, randomised response, the exponential mechanism."""
