"""How networks are trained: all trials of an MLP side by side in one compiled program, or one at a time by `fit`."""
