"""arena/concepts/cube"""
