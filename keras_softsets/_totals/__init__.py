"""What is summed over samples, and how the sums become scores: one class for each kind of totals.

Sums may be added up over batches and replicas before they are scored. Every kind has

* `sum(samples)`: the totals of a batch, one float64 tensor;
* `value(score, totals)`: the score of totals, wherever they were added up;
* `adds_up_with(other)`: whether two kinds of totals can be added.

| kind | totals |
|---|---|
| `Cells` | cells of each class against the rest, (4, thresholds, classes) |
| `Counts` | the c x c matrix, (classes, classes) |
| `PerSet` | each score's weighted sum over sets, and the sum of the weights, (scores, 2, values) |
| `AtRate` | soft cells where a rate is just met, and how they move, (7, rates, classes) |

Where the data determine the thresholds, no sums of hard cells exist. `AtRate` and `EveryThreshold` (areas) therefore
have `of_samples` and `of_bins` too: the score of all samples at once, or of their weights by probability.
"""

from keras_softsets._totals._at_rate import AtRate as AtRate
from keras_softsets._totals._cells import Cells as Cells
from keras_softsets._totals._cells import Counts as Counts
from keras_softsets._totals._cells import EveryThreshold as EveryThreshold
from keras_softsets._totals._cells import averaged as averaged
from keras_softsets._totals._cells import sum_by_definition as sum_by_definition
from keras_softsets._totals._cells import sum_cells as sum_cells
from keras_softsets._totals._cells import sum_counts as sum_counts
from keras_softsets._totals._per_set import PerSet as PerSet
from keras_softsets._totals._per_set import graph_of_matrices as graph_of_matrices
from keras_softsets._totals._per_set import values_of_matrices as values_of_matrices
from keras_softsets._totals._per_set import values_of_sets as values_of_sets
