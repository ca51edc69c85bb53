"""adversaries/online"""
