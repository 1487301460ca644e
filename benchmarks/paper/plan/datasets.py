"""The data sets, in the groups that tables show, and what they are called there."""

from __future__ import annotations

TABULAR = ("cocktail_party", "adult", "mammography", "creditcard_fraud")
SYNTHETIC = ("synthetic_05", "synthetic_33")
IMAGES = ("cifar10_transportation", "cifar10_frog")
# Data as the authors' code reads them, and the original data set; shown beside it where the difference matters most.
READ_BY_AUTHORS = {"adult_authors": "adult"}
ADULT_TWICE = ("cocktail_party", "adult", "adult_authors", "mammography", "creditcard_fraud")

LABELS = {
    "cocktail_party": "CocktailParty",
    "adult": "Adult",
    "adult_authors": "Adult, as the authors' code reads it",
    "mammography": "Mammography",
    "creditcard_fraud": "Kaggle",
    "synthetic_05": "Synthetic 5 %",
    "synthetic_33": "Synthetic 33 %",
    "cifar10_transportation": "CIFAR-10-Transportation",
    "cifar10_frog": "CIFAR-10-Frog",
}
