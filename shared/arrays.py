"""Array types that several rooms use."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One embedding, of length one."""
Matrix = NDArray[np.float32]
"""One embedding per row."""
