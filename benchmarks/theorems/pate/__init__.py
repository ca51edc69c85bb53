"""Figures of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning (PATE)."""
