"""adversaries/common"""
