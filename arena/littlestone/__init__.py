"""What can be learned online: Littlestone dimension, shattered trees, and learners as automata."""

from arena.littlestone.automaton import START, Automaton, halving, soa
from arena.littlestone.dimensions import dual_littlestone_dimension, dual_vc_dimension, littlestone_dimension
from arena.littlestone.trees import shattered_tree, tree_text

__all__ = [
    "START",
    "Automaton",
    "dual_littlestone_dimension",
    "dual_vc_dimension",
    "halving",
    "littlestone_dimension",
    "shattered_tree",
    "soa",
    "tree_text",
]
