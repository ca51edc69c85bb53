"""audits/data"""
