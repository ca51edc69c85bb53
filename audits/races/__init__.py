"""audits/races"""
