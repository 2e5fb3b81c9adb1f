"""Sandboxes for untrusted code: their protocol, the back ends that implement it, and the worker that runs inside."""
