"""Learners that wrap functions, OpenDP, diffprivlib, Opacus and JAX Privacy, imported when they are used."""
