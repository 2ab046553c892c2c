"""`larder run`: runs a PyTorch program on a simulated GPU.

Its tensors have shapes but no values; each of their storages is an allocation
of Larder. docs/FIT.md says how far the result matches a real run.
"""
