"""Thresholds that the data determine: operating points, and every distinct threshold of a curve.

* `_ranked`: the cells at every distinct threshold, by sorting, and the best of them that meets a rate.
* `_kept`, `_bins`: the samples of a metric, as they are or by probability.
"""

from keras_softsets.operating._bins import FloatBins as FloatBins
from keras_softsets.operating._bins import bins_for as bins_for
from keras_softsets.operating._bins import cells_of_bins as cells_of_bins
from keras_softsets.operating._kept import KeptSamples as KeptSamples
from keras_softsets.operating._ranked import SLACK as SLACK
from keras_softsets.operating._ranked import best as best
from keras_softsets.operating._ranked import ranked as ranked
from keras_softsets.operating._ranked import ranked_sets as ranked_sets
from keras_softsets.operating._ranked import thresholds_among as thresholds_among
from keras_softsets.operating._ranked import thresholds_of as thresholds_of
