"""audits/registry"""
