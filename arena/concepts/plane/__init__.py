"""arena/concepts/plane"""
