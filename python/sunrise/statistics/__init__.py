"""Sufficient statistics: what a model keeps of its training rows.

Every kind is additive: `a + b` are the statistics of both sets of rows, `a - b` removes rows, `a.scaled(w)` weighs
rows. `terms.py` and `support.py` say which functions of a cell are summed and which cells are allowed.
"""
