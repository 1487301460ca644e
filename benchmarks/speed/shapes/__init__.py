"""Other shapes: batches of any size, the wait for the first step, many classes, masks, weights.

`plan` says what is compared and what each may cost at most; `sizes`, `first_epoch`, `metrics` and `growth` measure
everything that is not the time of one step; `report` writes the page.
"""
