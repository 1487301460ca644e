"""How each method trains: networks side by side, networks for CIFAR-10, SVMs, and the adversarial F1."""
