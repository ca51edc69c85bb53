"""The data that users give: samples of labelled points, or records of any kind with their schema."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import InvalidArgument, Learner, Sample
from arena.capabilities import read_schema
from arena.claims import Relation, read_relation
from arena.schemas.schema import Schema
from audits.data.csv_files import read_frames
from audits.data.user_records import (
    is_vector_claim,
    read_own_records,
    read_records,
    read_rows,
    read_vectors,
)
from audits.registry.match import PlayerSettings, complete_data
from audits.registry.players import LEARNERS, is_function, lacks_records
from audits.registry.user_files import load_data_strategy, load_schema


def read_data(
    learner: object,
    data: object,
    neighbour: object,
    settings: PlayerSettings,
    neighbours: Relation | str | None = None,
    user: Any = None,
) -> tuple[Any, PlayerSettings]:
    """The user's data as a dataset, if they are no strategy, and the settings with what follows from them.

    A function receives what is given, as records of a schema; but an array of floats, or a pair of such an
    array and labels 0 and 1, is a `Sample`, as for all other learners.
    """
    own, opponent = dict(settings["learner"]), dict(settings["adversary"])
    if neighbours is not None:
        own.setdefault("neighbours", str(read_relation(neighbours)))
    changed = {**settings, "learner": own, "adversary": opponent}
    if data is None:
        if neighbour is not None:
            raise InvalidArgument("neighbour is given without data", remedy="Give data=, too.")
        return None, changed
    if (schema := _find_own_schema(learner)) is not None:
        own_data, own_neighbour = read_own_records(schema, data, neighbour)
        if own_neighbour is not None:
            opponent["neighbour"] = own_neighbour
        return own_data, changed
    data = complete_data(learner, data)
    if is_function(learner) and is_vector_claim(own.get("neighbours"), data):
        own["schema"], vector, other = read_vectors(read_relation(own["neighbours"]), data, neighbour)
        if other is not None:
            opponent["neighbour"] = other
        return vector, changed
    if is_function(learner) and (lacks_records(learner) or not is_plain_sample(data)):
        schema, dataset, other = read_records(data, neighbour, user)
        own["schema"] = schema
        if schema.relation is not None:
            own.setdefault("neighbours", str(schema.relation))
        if other is not None:
            opponent["neighbour"] = other
        return dataset, changed
    sample = read_sample("data", data)
    if is_function(learner):
        own.setdefault("receives", "both" if is_labelled(data) else "points")
        if sample.points.ndim > 1:
            own.setdefault("dimension", sample.points.shape[1])
    if neighbour is not None:
        opponent["neighbour"] = read_sample("neighbour", neighbour)
    return sample, changed


def _find_own_schema(learner: object) -> Schema | None:
    """The schema of a learner that has one already, such as a session."""
    if isinstance(learner, str):
        learner = LEARNERS.find_instance(learner)
    return read_schema(learner) if isinstance(learner, Learner) and learner.receives_records else None


def read_tables(
    learner: str,
    settings: PlayerSettings,
    data: str | None,
    neighbour: str | None,
    schema: str | None,
    *,
    neighbours: str | None = None,
    user: str | None = None,
) -> tuple[Any, PlayerSettings]:
    """The tables in CSV files as a dataset, and the settings, as `read_data` returns them. data, neighbour:
    the files of worlds 0 and 1, if given. schema: of both, as path/to/file.py:NAME; default: of the files."""
    if schema is None:
        frames = read_frames([path for path in (data, neighbour) if path is not None])
        other = frames[1] if neighbour is not None else None
        return read_data(learner, frames[0], other, settings, neighbours, user)
    known, strategy = load_schema(schema), load_data_strategy(schema)
    _, settings = read_data(learner, known, None, settings, neighbours, user)
    datasets = [None if path is None else read_rows(known, path, strategy) for path in (data, neighbour)]
    return datasets[0], set_neighbour(settings, datasets[1])


def set_neighbour(settings: PlayerSettings, neighbour: Any) -> PlayerSettings:
    """The settings with the dataset of world 1, if it is given."""
    if neighbour is None:
        return settings
    return {**settings, "adversary": {**settings["adversary"], "neighbour": neighbour}}


def is_plain_sample(data: object) -> bool:
    """Whether data are points, with or without labels, that a `Sample` holds without a change of type."""
    if isinstance(data, Sample):
        return True
    points = data[0] if is_labelled(data) else data  # type: ignore[index]
    if not isinstance(points, np.ndarray) or points.dtype != np.float64 or points.ndim not in (1, 2):
        return False
    if not len(points) or not np.isfinite(points).all():
        return False
    labels = data[1] if is_labelled(data) else None  # type: ignore[index]
    return labels is None or (
        isinstance(labels, np.ndarray) and labels.dtype == np.int64 and bool(np.isin(labels, (0, 1)).all())
    )


def read_sample(name: str, data: object) -> Sample:
    """Data as users give them: an array of points (k,) or (k, d), a pair (points, labels), or a `Sample`."""
    if isinstance(data, Sample):
        return data
    points, labels = data if isinstance(data, tuple) and is_labelled(data) else (data, None)
    try:
        array = np.asarray(points)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if isinstance(data, str) or array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise InvalidArgument(
            f"{name} must be an array of numbers, one row a record, or a pair (points, labels)",
            value=data if np.isscalar(data) else type(data).__name__,
            remedy="audits.load_sample reads a CSV file.",
        )
    return Sample(array.astype(float), np.zeros(len(array), int) if labels is None else labels)


def is_labelled(data: object) -> bool:
    """Whether data have labels: a pair (points, labels), or a `Sample`."""
    if isinstance(data, Sample):
        return True
    return isinstance(data, tuple) and len(data) == 2 and not np.isscalar(data[1])
