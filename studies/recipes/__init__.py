"""Which loss when: a study of losses for imbalanced classification. `python -m studies run recipes`.

The protocol, fixed before the first result:

Networks and training. The paper's MLP (32 and 16 units, dropout 0.5), Adam 1e-3, all trials of a row side by side.
Split, initial weights, order of the samples and dropout of trial i come from seed i, whatever the loss, so methods are
compared on pairs. Batches of 16, 128 and 1,024 samples. At most 1,000 epochs, and at most 100,000 updates but at least
20 epochs (`engine.tabular.budget`): the same number for all methods on a data set. (The limit was first 400 epochs; it
was raised once, after a trial run on the synthetic 5 % showed losses still falling there.) Early stopping on the
method's own loss of the whole validation part (weighted, if the method weights), with a patience of a quarter of these
epochs, between 5 and 100; the best epoch's weights are tested. A schedule is validated with its final weights.

Data. Eight sets (`plan.DATA`), split 64 / 16 / 20 % as in `keras_softsets.datasets`, stratified, standardised on the
training part. Letter is `U` against the rest.

Columns. F1 at 0.5; its mean over thresholds 0.1, 0.2, ..., 0.9; F1 at the threshold that is best on the validation
part; AUROC; AUPRC (average precision); Brier score; calibration error, the mean over 15 bins of equally many samples of
|mean probability - share of positives|. All on the test part. Ten trials. Seconds are those of a row divided by its
trials, including compilation, on a machine that others use, too.

Comparisons. For each pair of methods the number of (data set, trial) pairs that one wins, ties (a difference of at most
0.001) and loses, and the mean difference with a 95 % bootstrap interval that redraws the trials inside each data set.
The claim: SoftF1 + BCE (1 : 1) at 0.5 has at least the F1 of BCE at its tuned threshold minus 0.01, and at least BCE's
AUROC minus 0.005; decided by the means of each data set, at each batch size, holding or not.

Images (`images`). CIFAR-10-Frog, a CNN of four convolutions (Adam 1e-3) and Tiny Darknet (Adam 1e-4), batches of 128,
eight epochs for every method, three seeds. All methods choose their epoch in the same way: the best F1 on the
validation part at the threshold that is best there. The same columns.

Small batches (`memory`). Batches of 8, 16 and 32; SoftF1 with a running memory of the cells
(`engine.memory.Remembered`), with stratified batches, and plain, against BCE and the blend. A memory pays only if
it beats the blend on some data set: a bootstrap interval of the difference in F1 at 0.5 above 0.

Stuck starts (`stuck`). How often a training ends with a model that finds nothing: recall at 0.5 below 0.01 on the test
part. A U-Net on masks of 1 % (batches of 4, six seeds), and the MLP on creditcard_fraud with soft accuracy and with the
linear cost of `examples/custom_score.py` (ten seeds); plain, and with each cure: a blend, a schedule, `delta=0.2`, an
output bias at the logarithm of the class ratio, a smaller learning rate, float32. (A last layer in float32, and an
output bias for cross-entropy and the blend, were added when the first results of the U-Net were known.)
"""
