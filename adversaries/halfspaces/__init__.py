"""adversaries/halfspaces"""
