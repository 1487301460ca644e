"""Classifiers for production: the model, its decision and its labels in one SavedModel, laid out for TF Serving."""

from keras_softsets.export._export import export_classifier as export_classifier
