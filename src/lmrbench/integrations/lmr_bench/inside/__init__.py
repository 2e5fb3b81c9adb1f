"""Code that is prepended to imported checks and runs inside the sandbox, where lmrbench is not installed."""
