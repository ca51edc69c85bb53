"""Online learnability: Littlestone dimension, shattered trees, and deterministic learners as automata."""

from arena.littlestone.automaton import START, Automaton, halving, soa
from arena.littlestone.concept_sets import (
    build_shattered_tree,
    dual_littlestone_dimension,
    dual_vc_dimension,
    format_tree,
    littlestone_dimension,
)

__all__ = ["START", "Automaton", "build_shattered_tree", "dual_littlestone_dimension", "dual_vc_dimension"]
__all__ += ["format_tree", "halving", "littlestone_dimension", "soa"]
