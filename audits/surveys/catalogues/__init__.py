"""The catalogues that come with dp-arena, one file for each library, named as its package."""
