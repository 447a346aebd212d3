"""A fitted model without its scikit-learn face: the schema of its columns, settings, parameters derived from
statistics, and the two ways of the data: a table into statistics (`accumulate.py`), rows into scores (`encode_rows.py`,
`score.py`)."""
