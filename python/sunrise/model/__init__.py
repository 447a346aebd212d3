"""Fitted models without the scikit-learn interface: the schema of the columns, settings, parameters derived from
statistics, and the two data paths: from a table to statistics (`accumulate.py`) and from rows to scores
(`encode_rows.py`, `score.py`)."""
