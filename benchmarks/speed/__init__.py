"""What a loss costs compared with Keras's own and with peers: `python -m benchmarks.speed --help`, or `make bench`.

A `cases.Case` is one contender (a loss or a peer, in `losses`) on one `cases.Batch`; `plan` lists the cases
that are compared, in groups. A measurement is a function of a group or of a case, in `measurements`. To add a row, add
a value to `plan`; to add a column, write a function.
"""
