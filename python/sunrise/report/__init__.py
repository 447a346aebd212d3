"""The live page of a fitted model: one HTML file that scores rows in the browser and needs no network.

`facts.py` collects the numbers that the page shows beside the JSON export of the model. `page.py` joins both with the
template, style and scripts of this folder. The scripts score rows from the JSON export, as docs/export.md says.
"""
