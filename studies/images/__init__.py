"""Networks on CIFAR-10, trained by `fit` and tested after every epoch."""
