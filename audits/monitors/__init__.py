"""Monitors: evidence against the claims of a project that adds up over nights and changes of its code.

Why a true claim is reported false with probability at most the stated error: docs/proofs/monitoring.md.
"""
