"""SVMperf's three rows: a linear SVM for the error rate, for F1 and for the ROC area."""
