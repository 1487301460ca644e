"""How networks are trained side by side: the paper's protocol by default."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """Batch size, dropout, early stopping, and whose initial weights: `"keras"` or `"pytorch"`."""

    batch_size: int = 1024
    dropout: bool = True
    patience: int = 100
    most_epochs: int = 3000
    start: str = "keras"
