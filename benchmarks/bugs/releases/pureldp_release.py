"""A bug of pure-ldp 1.1.2: unary encoding, mended in 1.2.0."""

from __future__ import annotations

from pure_ldp.frequency_oracles.unary_encoding import UEClient

from benchmarks.bugs.bug import Bug, a_list, integers

CLIENT = UEClient(1.0, 4)


def encode_answer(answers):
    return CLIENT.privatise(answers[0]).tolist()


BUGS = [
    Bug(
        name="pureldp-unary-encoding",
        kind="release",
        address="https://github.com/Samuel-Maddock/pure-LDP/issues/11",
        library="pure-ldp 1.1.2",
        summary="The bit of the true value is random like the others, and may then be set in addition.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(integers(1, 4), least=1, most=1),
        mechanism=encode_answer,
        worlds=([1], [2]),
        coins="own",
    )
]
