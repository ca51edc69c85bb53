"""A bug of pure-ldp 1.1.2: unary encoding, mended in 1.2.0."""

from __future__ import annotations

from pure_ldp.frequency_oracles.unary_encoding import UEClient

from benchmarks.bugs.bug import a_list, integers
from benchmarks.bugs.releases import enter_release

CLIENT = UEClient(1.0, 4)


def encode_answer(answers):
    return CLIENT.privatise(answers[0]).tolist()


BUGS = [
    enter_release(
        "pureldp-unary-encoding",
        "https://github.com/Samuel-Maddock/pure-LDP/issues/11",
        "pure-ldp 1.1.2",
        "The bit of the true value is random like the others, and may then be set in addition.",
        "replace one",
        a_list(integers(1, 4), least=1, most=1),
        encode_answer,
        ([1], [2]),
        coins="own",
    )
]
