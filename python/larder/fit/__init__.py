"""`larder run`: a program of PyTorch on a GPU that is not there.

Its tensors have shapes and no values; each of their storages is an allocation
of Larder.  docs/FIT.md says what that tells of a real run."""
