"""The game itself: players, moves, replies, referees, the engine, transcripts and concept classes."""

from arena.claims import ERROR, MISTAKES, REGRET, Bound, Claim, Neighbours, PrivacyUnit, Relation
from arena.engine import Played, play
from arena.errors import (
    ArenaError,
    BudgetExceeded,
    CannotBeSent,
    InternalError,
    InvalidArgument,
    LearnerFails,
    NotConforming,
    NothingTested,
    PlayerError,
    PlaysAlone,
    ProtocolViolation,
    UnknownRelease,
    Unsupported,
)
from arena.laws import (
    AnswerLaw,
    Branches,
    Density,
    Finite,
    Independent,
    Mixture,
    OnlineLaw,
    Transformed,
    ValueLaw,
    project,
)
from arena.messages import (
    NO_LABEL,
    UNSTABLE,
    Advance,
    Answer,
    Answers,
    Commit,
    Example,
    GradientCanary,
    Hypothesis,
    Models,
    Move,
    Queries,
    Query,
    Ready,
    Received,
    Released,
    Reply,
    Shown,
    Stream,
    Train,
    Trained,
    TrainWithCanaries,
    Unlabelled,
)
from arena.players import Adversary, GameAdversary, GameLearner, Learner, Moves
from arena.referees import (
    REFEREES,
    Adaptive,
    Figure1,
    Oblivious,
    OneRun,
    Realizable,
    Referee,
    Release,
    Session,
    SpecialRound,
    TrainingRun,
    Voting,
)
from arena.referees.scorebook import MistakeCounts, Scorebook
from arena.referees.session_moves import Ask, Open, Replied, Stop
from arena.referees.transcript import Transcript
from arena.sample import BLANK, Sample, Training
from arena.settings import count_setting, setting

__all__ = ["Adversary", "Bound", "Claim", "GameAdversary", "GameLearner", "Learner", "Moves", "Neighbours"]
__all__ += ["PrivacyUnit", "Relation", "count_setting", "setting"]
__all__ += ["BLANK", "Advance", "Commit", "Example", "GradientCanary", "Move", "Queries", "Query", "Ready"]
__all__ += ["Sample", "Train", "TrainWithCanaries", "Training", "Unlabelled"]
__all__ += ["NO_LABEL", "UNSTABLE", "Answer", "Answers", "Hypothesis", "Models", "Received", "Released"]
__all__ += ["Reply", "Shown", "Stream", "Trained"]
__all__ += ["REFEREES", "Adaptive", "Figure1", "Oblivious", "OneRun", "Played", "Realizable", "Referee"]
__all__ += ["Ask", "Open", "Replied", "Session", "Stop"]
__all__ += ["Release", "SpecialRound", "TrainingRun", "Transcript", "Voting", "play"]
__all__ += ["AnswerLaw", "Branches", "Density", "Finite", "Independent", "Mixture", "OnlineLaw"]
__all__ += ["Transformed", "ValueLaw", "project"]
__all__ += ["ERROR", "MISTAKES", "REGRET", "MistakeCounts", "Scorebook"]
__all__ += ["ArenaError", "BudgetExceeded", "CannotBeSent", "InternalError", "InvalidArgument"]
__all__ += ["LearnerFails", "NotConforming", "NothingTested", "PlayerError", "PlaysAlone"]
__all__ += ["ProtocolViolation", "UnknownRelease", "Unsupported"]
