"""arena/concepts/finite"""
