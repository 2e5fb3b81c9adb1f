"""The programs that run inside a sandbox. They import the standard library, numpy and safetensors, but not lmrbench."""
