"""The command line, `python -m keras_softsets`: `compare` for a table, `tune` for predictions of any model."""
