"""Concept classes on vectors of zeros and ones: decision lists and halfspaces with margin."""
