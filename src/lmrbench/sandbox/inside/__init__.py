"""The programs that run inside a sandbox.

They import only the standard library, numpy, safetensors and the packages of the tasks, but not lmrbench.
"""
