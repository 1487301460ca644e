"""Networks for CIFAR-10, one trial at a time, through plain `fit`."""
