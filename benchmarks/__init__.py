"""Measurements: of speed in `speed`, of quality in `paper`; results of both in `results`."""
