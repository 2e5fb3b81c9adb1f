"""A stub: the published package imports its classes here. Its annotations name a type that numpy 2 no longer has."""

import numpy as np

if not hasattr(np, "float_"):
    np.float_ = np.float64
