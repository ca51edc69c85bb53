"""Figures of Bun and Fang on halfspaces with margin: dp-winnow."""
