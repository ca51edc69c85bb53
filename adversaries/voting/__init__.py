"""adversaries/voting"""
