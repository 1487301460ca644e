"""Measurements: `speed` of speed; `paper`, `recipes`, `classes` and `operating` of quality; `results` keeps them."""
