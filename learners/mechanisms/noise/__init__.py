"""Laplace and Gaussian noise: sampling, densities and quadrature."""
