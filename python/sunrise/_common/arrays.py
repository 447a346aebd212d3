"""Names for the kinds of arrays that pass between the rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Class of every row: 0, 1, 2, ...; -1 where the row has none.
Codes = NDArray[np.int32]
Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]
#: Class labels, of whatever type the user's are.
Labels = np.ndarray[Any, Any]
