"""The game: moves, replies, referees, engine, views, transcripts, concept classes, randomness, errors."""

from arena.bounds import MISTAKES, REGRET, Bound
from arena.claims import QUERY, STREAM_EXAMPLE, TRAINING_EXAMPLE, Claim
from arena.engine import Played, View, play
from arena.errors import (
    ArenaError,
    BudgetExceeded,
    InternalError,
    InvalidArgument,
    NotConforming,
    PlayerError,
    ProtocolViolation,
    Unsupported,
)
from arena.laws import AnswerLaw, Branches, Density, Finite, Independent, ValueLaw
from arena.lift import GameAdversary, GameLearner
from arena.moves import Commit, Example, Move, Query, Ready, Train
from arena.players import Adversary, Learner, Moves
from arena.referees import (
    REFEREES,
    Adaptive,
    Figure1,
    Oblivious,
    Realizable,
    Referee,
    Release,
    SpecialRound,
    Voting,
)
from arena.replies import (
    NO_LABEL,
    UNSTABLE,
    Answer,
    Hypothesis,
    Released,
    Reply,
    Shown,
    Stream,
    Trained,
)
from arena.sample import Sample, Training
from arena.scorebook import Noted, Scorebook
from arena.settings import setting
from arena.transcript import Transcript

__all__ = [
    "MISTAKES",
    "NO_LABEL",
    "QUERY",
    "REFEREES",
    "REGRET",
    "STREAM_EXAMPLE",
    "TRAINING_EXAMPLE",
    "UNSTABLE",
    "Adaptive",
    "Adversary",
    "Answer",
    "AnswerLaw",
    "ArenaError",
    "Bound",
    "Branches",
    "BudgetExceeded",
    "Claim",
    "Commit",
    "Density",
    "Example",
    "Figure1",
    "Finite",
    "GameAdversary",
    "GameLearner",
    "Hypothesis",
    "Independent",
    "InternalError",
    "InvalidArgument",
    "Learner",
    "Move",
    "Moves",
    "NotConforming",
    "Noted",
    "Oblivious",
    "Played",
    "PlayerError",
    "ProtocolViolation",
    "Query",
    "Ready",
    "Realizable",
    "Referee",
    "Release",
    "Released",
    "Reply",
    "Sample",
    "Scorebook",
    "Shown",
    "SpecialRound",
    "Stream",
    "Train",
    "Trained",
    "Training",
    "Transcript",
    "Unsupported",
    "ValueLaw",
    "View",
    "Voting",
    "play",
    "setting",
]
