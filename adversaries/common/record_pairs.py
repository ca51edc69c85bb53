"""Neighbouring lists of records that the user gives, or of which the user gives one."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import InvalidArgument, Learner, Neighbours
from arena.capabilities import read_schema
from arena.claims import DISTANCES, REPLACING, Relation
from arena.players import read_relation_of
from arena.records import BLANK_RECORD, Records
from arena.schemas.differences import describe_difference
from arena.schemas.vectors import measure_distance, shift_vector


def check_known_pair(first: Records, second: Records, learner: Learner | None) -> None:
    """Raises: InvalidArgument unless the records of the two worlds differ and are neighbours by the learner's
    claim."""
    relation = read_relation_of(learner)
    users_of = learner.users_of if learner is not None else np.zeros_like
    if not 1 <= relation.count_changes(first, second, users_of) <= relation.size:
        if relation.kind in DISTANCES:
            raise InvalidArgument(
                relation.rule,
                value=_describe_distance(relation, first, second),
                remedy="Give vectors of one length that differ by this distance at most.",
            )
        raise InvalidArgument(
            relation.rule,
            value=describe_difference(first, second, users_of),
            remedy=f"The claim is for neighbours that {relation}; `neighbours=` says for which.",
            lacking=suggest_relation(learner, first, second),
        )


def _describe_distance(relation: Relation, first: Records, second: Records) -> str:
    distance = measure_distance(relation, first, second)
    if distance is None:
        return "vectors of different lengths"
    return f"vectors {relation.kind.value} {distance:.17g}" if distance else "equal vectors"


def suggest_relation(learner: Learner | None, sample: Any, neighbour: Any) -> tuple[str, ...]:
    """The words of a command line that allow data of which one has a record more than the other."""
    if learner is None or abs(sample.size - neighbour.size) != 1:
        return ()
    relation = str(Neighbours.ADD_OR_REMOVE_ONE)
    is_function = hasattr(learner, "coins")  # for which there is an option
    return ("--neighbours", relation) if is_function else ("--set", f"neighbours={relation}")


def change_last_record(sample: Records, learner: Learner | None) -> tuple[Records, Records]:
    """The records without those of the last one's user, without the last, or with another for it. Of a vector
    all entries are larger, or for the L1 distance the first."""
    schema = None if learner is None else read_schema(learner)
    if schema is None or not sample.size:
        raise InvalidArgument("records need a learner that receives them, and at least one of them")
    relation = read_relation_of(learner)
    if relation.kind in DISTANCES:
        return sample, _move_vector(relation, sample)
    last = sample.select(np.array([-1])).repeat(np.ones(1, int))
    rest = sample.select(np.arange(len(sample.records) - 1))
    rest = (
        rest
        if sample.counts[-1] == 1
        else sample.repeat(sample.counts - np.eye(len(sample.counts), dtype=int)[-1])
    )
    if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        users = schema.users_of(sample.list_for_users())
        return sample.select(users != users[-1]), sample
    if relation.kind is Neighbours.ADD_OR_REMOVE_ONE:
        return rest, sample
    if relation.kind is Neighbours.ZERO_OUT_ONE:
        return rest.join([(BLANK_RECORD, 1)]), sample
    others = [each for each in (*schema.examples, *schema.beyond) if Records([each]) != last]
    if not others or relation.kind not in REPLACING:
        raise InvalidArgument(
            "neighbours that replace a record need another record",
            value=str(relation),
            remedy="Give neighbour=, or search with a schema: audits.search(f, data=audits.table(...)).",
        )
    return sample, rest.join([(others[-1], 1)])


def _move_vector(relation: Relation, sample: Records) -> Records:
    vector = np.array(sample.records[0], float)
    in_one = relation.kind is Neighbours.AT_L1_DISTANCE
    moved = shift_vector(relation, vector, np.eye(len(vector))[0] if in_one else np.ones(len(vector)))
    if moved is None:
        raise InvalidArgument(
            "no vector of floats lies at this distance", value=relation.distance, remedy="Give neighbour=."
        )
    return Records([moved])
