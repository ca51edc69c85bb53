"""Our estimators beside those of other tools, on the same scores; `make bench-anchors` runs all of it.

Every tool has an environment of its own, so the modules that all of them import (`score_cases`,
`measure_estimators`) need numpy only. `make_scores` writes the scores, `*_estimators` measure the estimators of
one tool each, `games_to_refute` measures what papers state without scores, and `tables` prints the results.
"""
