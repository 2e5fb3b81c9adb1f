"""The programs inside a sandbox; they import the standard library, numpy and safetensors, but not lmrbench."""
