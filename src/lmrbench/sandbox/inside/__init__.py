"""The program inside a sandbox. It needs the standard library, numpy and safetensors, and nothing of lmrbench."""
