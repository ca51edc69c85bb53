"""Concept classes on vectors of real numbers: boxes, halfplanes, rectangles and stumps."""
