"""Benchmarks of speed, and their results."""
