"""Adversaries of online games on halfspaces with margin."""
