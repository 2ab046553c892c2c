"""torch.version: of what the lab stands in for."""

cuda = "12.4"
hip = None
debug = False
__version__ = "2.4.0+larder"
