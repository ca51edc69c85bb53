"""Our estimators beside those of other tools, on the same scores; `make bench-anchors` runs all of it.

Every tool has an environment of its own, so the modules that all of them import (`score_cases`,
`measure_estimators`) need numpy only. `make_scores` writes the scores, each of the `*_estimators` measures
the estimators of one tool, `games_to_refute` repeats what papers state about other tools with our test, and
`tables` prints the results.
"""
