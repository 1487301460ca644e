"""Measurements: of speed beside this file, of quality in `paper`."""
