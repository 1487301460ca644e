"""Figures: approximations, scores against thresholds, curves, matrices and training; matplotlib is imported inside.

Each function returns a matplotlib figure, and neither shows nor saves it. Colours are those of Okabe and Ito, which
colour-blind readers can tell apart; line styles repeat the distinction for print without colour.
"""

from keras_softsets.plots._figures import COLOURS as COLOURS
from keras_softsets.plots._figures import STYLES as STYLES
from keras_softsets.plots._heatmaps import confusion as confusion
from keras_softsets.plots._heatmaps import confusion_heatmap as confusion_heatmap
from keras_softsets.plots._line_plots import GRID as GRID
from keras_softsets.plots._line_plots import approximations as approximations
from keras_softsets.plots._line_plots import curves as curves
from keras_softsets.plots._line_plots import score_against_threshold as score_against_threshold
from keras_softsets.plots._line_plots import training as training
