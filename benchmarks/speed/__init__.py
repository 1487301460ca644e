"""What a loss costs beside Keras's own and beside peers: `python -m benchmarks.speed --help`, or `make bench`.

A `cases.Case` is one contender (a loss of `losses`, or one of `peers`) on one `batch.Batch`; `plan` lists those that
are compared, in groups. A measurement is a function of a group or of a case, in `measurements`. So a new row is a value
in `plan`, and a new column is a function.
"""
