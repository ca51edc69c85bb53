"""audits/statistics"""
