"""The paper's tables on the paper's data, with corrected baselines: `python -m benchmarks.paper --help`.

`plan` says what is trained, `methods` trains it, `records` keeps the results, and `report` writes `docs/results.md`.
"""
