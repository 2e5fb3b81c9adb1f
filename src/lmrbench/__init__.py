"""lmrbench: can language models and agents reproduce the key functions of NLP papers?"""

__version__ = "0.1.0"
