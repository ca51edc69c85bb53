"""Private everlasting prediction: GenericBBL and its variants (Naor, Nissim, Stemmer, Yan)."""
