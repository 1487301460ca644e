"""Differentiable approximations of the Heaviside step: how much a probability counts as positive.

Each approximation is a small serializable value that is called as `h(p, threshold)` and passed as an argument,
`SoftF1(heaviside=LinearHeaviside(delta=0.2))`. The strings `"linear"`, `"sigmoid"` and `"step"` name the defaults.
"""

from keras_softsets.heaviside._base import Heaviside as Heaviside
from keras_softsets.heaviside._base import Pieces as Pieces
from keras_softsets.heaviside._functions import HeavisideLike as HeavisideLike
from keras_softsets.heaviside._functions import LinearHeaviside as LinearHeaviside
from keras_softsets.heaviside._functions import SigmoidHeaviside as SigmoidHeaviside
from keras_softsets.heaviside._functions import StepHeaviside as StepHeaviside
from keras_softsets.heaviside._functions import get as get
from keras_softsets.heaviside._functions import written as written
from keras_softsets.heaviside._tabulated import TabulatedHeaviside as TabulatedHeaviside
