"""Array types that several packages use."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One embedding, of unit length."""
Matrix = NDArray[np.float32]
"""One embedding per row."""
