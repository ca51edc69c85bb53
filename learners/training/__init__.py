"""Private training by noisy gradients."""
