"""The paper's tables on the paper's data, with corrected baselines: `python -m benchmarks.paper --help`.

`plan` says what is trained, `methods` train it, `records` keep the results, and `report` writes `docs/results.md`.
"""
