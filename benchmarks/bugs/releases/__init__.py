"""Bugs in releases that can be installed, each in an environment of its own: `make bugs-libraries`.

An adapter of a few lines calls the release itself. Requirements are in requirements-LIBRARY.txt;
what is installed without its own requirements is in alone-LIBRARY.txt.
"""

from benchmarks.bugs.bug import Bug


def enter_release(
    name, address, library, summary, relation, schema, mechanism, worlds,
    epsilon=1.0, delta=0.0, look=None, coins="given",
):  # fmt: skip
    """The entry of a bug in a release, which has no twin."""
    return Bug(
        name=name,
        kind="release",
        address=address,
        library=library,
        summary=summary,
        relation=relation,
        epsilon=epsilon,
        delta=delta,
        schema=schema,
        mechanism=mechanism,
        worlds=worlds,
        look=look,
        coins=coins,
    )
