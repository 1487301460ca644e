"""BibTeX of the data sets."""

_PAPER = """@inproceedings{tsoi2022bridging,
  author = {Tsoi, Nathan and Candon, Kate and Li, Deyuan and Milkessa, Yofti and V{\\'a}zquez, Marynel},
  title = {Bridging the Gap: Unifying the Training and Evaluation of Neural Network Binary Classifiers},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2022},
}"""

_CIFAR10 = """@techreport{krizhevsky2009learning,
  author = {Krizhevsky, Alex},
  title = {Learning Multiple Layers of Features from Tiny Images},
  institution = {University of Toronto},
  year = {2009},
}"""

CITATIONS = {
    "adult": """@misc{adult1996,
  author = {Becker, Barry and Kohavi, Ronny},
  title = {Adult},
  howpublished = {UCI Machine Learning Repository},
  year = {1996},
  doi = {10.24432/C5XW20},
}""",
    "cifar10_frog": _CIFAR10,
    "cifar10_transportation": _CIFAR10,
    "cocktail_party": """@inproceedings{zen2010space,
  author = {Zen, Gloria and Lepri, Bruno and Ricci, Elisa and Lanz, Oswald},
  title = {Space Speaks: Towards Socially and Personality Aware Visual Surveillance},
  booktitle = {ACM International Workshop on Multimodal Pervasive Video Analysis},
  pages = {37--42},
  year = {2010},
}""",
    "creditcard_fraud": """@inproceedings{dalpozzolo2015calibrating,
  author = {Dal Pozzolo, Andrea and Caelen, Olivier and Johnson, Reid A. and Bontempi, Gianluca},
  title = {Calibrating Probability with Undersampling for Unbalanced Classification},
  booktitle = {IEEE Symposium Series on Computational Intelligence},
  year = {2015},
}""",
    "mammography": """@article{woods1993comparative,
  author = {Woods, Kevin S. and Doss, Christopher C. and Bowyer, Kevin W. and Solka, Jeffrey L. and
    Priebe, Carey E. and Kegelmeyer, W. Philip},
  title = {Comparative Evaluation of Pattern Recognition Techniques for Detection of Microcalcifications in
    Mammography},
  journal = {International Journal of Pattern Recognition and Artificial Intelligence},
  volume = {7},
  number = {6},
  pages = {1417--1436},
  year = {1993},
}""",
    "synthetic_05": _PAPER,
    "synthetic_33": _PAPER,
}
