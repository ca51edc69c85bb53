"""audits/distinguishers"""
