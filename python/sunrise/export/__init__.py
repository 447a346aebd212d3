"""Exports of a fitted model: one plain description of its scoring, and the renderers that write it as JSON, SQL and ONNX.

`description.py` derives the description from the forms of a fitted model; `curves.py` tabulates kernel densities for it.
`json_text.py`, `sql_query.py` and `onnx_model.py` only render the description, so all exports score alike.
"""
