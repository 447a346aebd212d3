"""Clusters: fit and predict where the rows are, with one Accumulator per partition. Public as `sunrise.spark`."""
