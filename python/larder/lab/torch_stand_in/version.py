"""torch.version: the version that the lab imitates."""

cuda = "12.4"
hip = None
debug = False
__version__ = "2.4.0+larder"
