"""Does it help on my data? `compare` trains with several losses, and says whether one of them does."""

from keras_softsets.comparison._compare import compare as compare
from keras_softsets.comparison._comparison import Comparison as Comparison
