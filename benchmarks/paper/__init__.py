"""The paper's tables on the paper's data, with corrected baselines: `python -m benchmarks.paper --help`."""
