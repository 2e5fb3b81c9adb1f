"""MoverScore over a small contextual encoder that needs no download."""
