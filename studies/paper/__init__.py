"""The paper's tables on the paper's data, with corrected baselines: `python -m studies run paper`.

`plan` says what is trained, `methods` trains it, and `report` writes `results/paper.md`.
"""
