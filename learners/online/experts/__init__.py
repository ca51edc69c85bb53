"""Experts that follow a mistake-bound learner through private candidates: Appendix E of Li, Wang, Ye.

For classes on finite domains. Experts with the same future are merged, so that there are few.
"""
