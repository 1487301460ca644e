"""All trials of a network at once: stacked weights, one compiled program."""
