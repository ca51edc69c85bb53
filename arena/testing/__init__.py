"""arena/testing"""
