"""Tables that come in batches: files, readers and iterators of frames, read once or several times.

`source` defines a source of batches and finds the source of an argument, `files` reads files, `sample` draws rows by
the hash of their content, so that the sample does not depend on how the rows are cut. `lazy` finds lazy tables
(polars, DuckDB, Ibis), `relation` reads them in batches, and `pushdown` lets their engine compute statistics.
"""

from sunrise.streams import lazy as lazy  # lets `source_of` find lazy tables
