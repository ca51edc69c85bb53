"""audits/runs"""
