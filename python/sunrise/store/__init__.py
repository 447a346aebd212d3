"""The model file: how fitted models and statistics become bytes, and how bytes are read back safely.

`container` lays out arrays behind a JSON header, `packing` makes arrays small, `values` writes Python values as JSON,
`state` lists the parts of a model. No code is stored, and a file that is not valid raises `ModelFileError`.
"""
