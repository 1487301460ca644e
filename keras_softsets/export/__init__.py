"""Classifiers for production: the model, its decision and its labels in one model or SavedModel, for TF Serving."""

from keras_softsets.export._classifier import as_classifier as as_classifier
from keras_softsets.export._export import export_classifier as export_classifier
