"""Sandboxes: one protocol for untrusted code, the back ends behind it, and the warm worker that runs inside them."""
