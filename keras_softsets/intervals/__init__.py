"""Confidence intervals of scores, by resampling the samples: what `evaluate(..., interval=0.95)` returns.

The bootstrap draws as many samples as there are, with replacement, a thousand times. A score of cells needs only the
number drawn of each kind of sample (true positives, false positives ...), so a thousand resamples are one multinomial
draw and one matrix product. For areas and operating points, samples are sorted once, and resampled weights are added up
from the top. The interval is bias-corrected and accelerated (BCa), and expanded where few samples tell: `half_width`.
"""

from keras_softsets.intervals._interval import Estimate as Estimate
