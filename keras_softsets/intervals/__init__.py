"""Confidence intervals of scores, by resampling the samples: what `evaluate(..., interval=0.95)` returns.

The bootstrap draws as many samples as there are, with replacement, a thousand times. A score of cells needs only the
number drawn of each kind of sample (true positives, false positives ...), so a thousand resamples are one multinomial
draw and one matrix product. For areas and operating points, samples are sorted once, and resampled weights are added
up from the top. The interval is bias-corrected and accelerated (BCa), and expanded where few samples tell:
`half_width`. In simulations with 40 positives among 200 samples, 95 % intervals covered the truth in 93 to 97 %; with
ten, in 92 to 99 %, but those of a difference of F1 in 89 %.
"""

from keras_softsets.intervals._interval import Estimate as Estimate
