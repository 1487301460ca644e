"""Cross-entropy whose weights are the gradient of a score: the loss, its weights, and the matrix that it keeps."""

from keras_softsets.losses._guided._loss import GuidedCrossentropy as GuidedCrossentropy
from keras_softsets.losses._guided._loss import GuidedWeights as GuidedWeights
