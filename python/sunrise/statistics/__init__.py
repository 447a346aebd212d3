"""Sufficient statistics: a fitted model stores these instead of its training rows.

Every kind is additive: `a + b` are the statistics of both sets of rows, `a - b` removes rows, `a.scaled(w)` multiplies
weights. `terms.py` lists the functions of a cell that are summed, `support.py` the cells that a family accepts.
"""
