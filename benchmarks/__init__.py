"""Benchmarks of speed (`speed`) and quality (`paper`, `recipes`, `classes`, `operating`), and their `results`."""
