"""Train Keras models on the metric you report."""

__version__ = "0.1.0"
