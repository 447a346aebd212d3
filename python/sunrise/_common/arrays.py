"""Type aliases for the arrays that functions exchange."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Class code of every row: 0, 1, 2, ...; -1 for a row without a class.
Codes = NDArray[np.int32]
Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]
#: Class labels, of the type that the user passed.
Labels = np.ndarray[Any, Any]
