"""Guided cross-entropy, alone and in `loss_for`, against cross-entropy whose decision is tuned.

The protocol, fixed before the first result of a guided loss:

Tables (`tables`; `python -m studies run guided`). As in `studies/recipes/__init__.py`: eight imbalanced data sets, the
paper's MLP, Adam 1e-3, batches of 1,024, 128 and 16, the same epochs for all methods, ten trials. Split, initial
weights, order of the samples and dropout of trial i come from seed i whatever the loss, so rows are paired; those of
BCE, balanced BCE and SoftF1 + BCE are in `recipes.csv` already, were known, and are not trained again. The best epoch
is that with the lowest value of the method's own loss on the whole validation part as one batch (a guided loss is
weighted by the matrix of that part, as `compare` does it).

Methods. `GuidedCrossentropy("f1")`; `loss_for("f1")`, which is SoftF1 + guided, 1 : 1; and, to see what the weight
does, 0.3 and 3 times guided. Baselines: BCE at its tuned threshold, balanced BCE, SoftF1 + BCE. Logit adjustment with
one tuned number is, for two classes, a tuned threshold, and with the number 1 it decides where balanced BCE does;
neither needs a row.

Which matrix. (Added before the first result of a guided loss was seen on test data.) With dropout, and softly counted,
the running F1 is far below that of the decisions, so positives weigh more than they should: in small trials on training
and validation parts, 0.40 against 0.63 on Mammography. Two more rows of each guided loss at batches of 1,024 and 128
count with a sharper approximation (a sigmoid, k = 20) and with the step. The one with the best mean F1 at 0.5 on the
validation parts is to be what the package does, if it is ahead of the linear one by two standard errors over data sets.

Columns. The usual ones; also F1 at 0.5, tuned F1 and AUROC on the validation part, by which a recipe may be chosen (the
test part has no say in that), and the calibration error of the test part after the shift of guided cross-entropy, taken
from the validation part, has been taken off.

The claim: a guided loss at 0.5 has at least the F1 of BCE at its tuned threshold minus 0.005, and at least BCE's AUROC
minus 0.002; decided by the means of each data set at each batch size, for guided cross-entropy and for `loss_for`.

Few rows (`python -m studies run guided_few_rows`; added when the tables were known, and before any result of its own).
Most people have fewer rows than these data sets. A thousand rows to train on and 250 for validation, in the shares of
the whole and chosen by the seed; the test part stays whole. Seven data sets (of Kaggle, a thousand rows hold two
positives), batches of 128, ten trials; BCE, balanced BCE, focal, SoftF1 + BCE, guided, and SoftF1 + guided. What is
asked: the mean over data sets of the paired difference of F1 at 0.5 from BCE at its tuned threshold, with its standard
error over data sets, and that of AUROC. If SoftF1 + guided is ahead of guided alone by two standard errors in F1,
`loss_for` stays the sum; if it is behind, it is to become guided alone. Three more rows choose the epoch by the F1 of
the validation part at 0.5 instead of by the loss, because people do: what does that cost?

Several classes (`studies.classes`). The trainings `wine_quality` (64 and 32 units, batches of 512, at most 400 epochs),
`wine_quality_as_in_demo` and `letter`, ten splits, as in `studies/classes/__init__.py`. New methods: guided
cross-entropy; `loss_for` (SoftKappa + 0.3 guided, SoftF1 + guided), and SoftF1 + 0.3 guided; for wine, whose classes
have an order, also regression of the grade and a cumulative link. New decisions of cross-entropy: logit adjustment (one
number, a multiple of log shares, tuned on the validation part) and `offsets="auto"`. Regression is rounded, or has cut
points tuned on the validation part. The claim: `loss_for` at the plain argmax has at least the score of cross-entropy
at its best decision (of offsets, one number and auto, the one with the best mean) minus 0.005; for kappa also against
regression with tuned cut points.

Images (`images`; `python -m studies run guided_images`). CIFAR-10-Frog, the CNN of four convolutions, Adam 1e-3,
batches of 128, 20 epochs, three seeds: BCE, SoftF1 + BCE, guided, `loss_for`. The best epoch by each loss's own value
on the whole validation part. The same columns, and the same claim for the means of three seeds.

Results that are missing say so on the pages; a verdict needs all ten trials (three for images).
"""
