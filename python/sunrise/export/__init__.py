"""Exports of a fitted model: one plain description of its scoring, and its renderers as JSON, SQL and ONNX.

`description.py` derives the description from the forms of a fitted model; `curves.py` tabulates kernel densities.
`json_text.py`, `sql_query.py` and `onnx_model.py` only render the description, so all exports score alike.
"""
