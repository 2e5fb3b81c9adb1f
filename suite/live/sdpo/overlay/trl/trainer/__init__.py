"""A stand-in for helpers of trl."""
