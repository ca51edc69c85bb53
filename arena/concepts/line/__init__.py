"""arena/concepts/line"""
