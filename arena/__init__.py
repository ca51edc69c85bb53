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
    SameReleases,
    UnknownRelease,
    Unsupported,
)
from arena.laws import (
    AnswerLaw,
    Branches,
    Density,
    Finite,
    GaussianVector,
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
    Hypotheses,
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
    Realizable,
    Referee,
    Release,
    SpecialRound,
    Voting,
)
from arena.referees.scorebook import MistakeCounts, Scorebook
from arena.referees.session import Session
from arena.referees.session_moves import Ask, Open, Stop
from arena.referees.session_replies import Replied
from arena.referees.stream import FixedStream, Stream
from arena.referees.stream_moves import Arrive, Published, StreamLaw
from arena.referees.training_run import OneRun, TrainingRun
from arena.referees.transcript import Transcript
from arena.sample import BLANK, Sample, Training
from arena.settings import count_setting, setting

__all__ = ["Adversary", "Bound", "Claim", "GameAdversary", "GameLearner", "Learner", "Moves", "Neighbours"]
__all__ += ["PrivacyUnit", "Relation", "count_setting", "setting"]
__all__ += ["BLANK", "Advance", "Arrive", "Ask", "Commit", "Example", "GradientCanary", "Move", "Open"]
__all__ += ["Queries", "Query", "Ready", "Sample", "Stop", "Train", "TrainWithCanaries", "Training"]
__all__ += ["Unlabelled"]
__all__ += ["NO_LABEL", "UNSTABLE", "Answer", "Answers", "Hypotheses", "Hypothesis", "Models", "Published"]
__all__ += ["Received", "Released", "Replied", "Reply", "Shown", "Trained"]
__all__ += ["REFEREES", "Adaptive", "Figure1", "FixedStream", "Oblivious", "OneRun", "Played", "Realizable"]
__all__ += ["Referee", "Release", "Session", "SpecialRound", "Stream", "TrainingRun", "Transcript", "Voting"]
__all__ += ["play"]
__all__ += ["AnswerLaw", "Branches", "Density", "Finite", "GaussianVector", "Independent", "Mixture"]
__all__ += ["OnlineLaw", "StreamLaw", "Transformed", "ValueLaw", "project"]
__all__ += ["ERROR", "MISTAKES", "REGRET", "MistakeCounts", "Scorebook"]
__all__ += ["ArenaError", "BudgetExceeded", "CannotBeSent", "InternalError", "InvalidArgument"]
__all__ += ["LearnerFails", "NotConforming", "NothingTested", "PlayerError", "PlaysAlone", "SameReleases"]
__all__ += ["ProtocolViolation", "UnknownRelease", "Unsupported"]
