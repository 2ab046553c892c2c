__version__ = '2.8.0+double'
cuda: str = '12.8'
hip = None
