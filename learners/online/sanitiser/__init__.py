"""Private synthetic data for a class of functions: section 2.3 and Appendix D of Li, Wang, Ye.

For finite classes on finite domains. Datasets are counts of the points of the domain, one row for each game
of a batch. Algorithms and proofs: docs/proofs/sanitiser.md.
"""
