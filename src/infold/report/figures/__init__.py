"""The numbers of each figure: what the page and `infold.plot` draw.

Each module has a function that takes a `Subject` and returns a dataclass of arrays, or None where
there is nothing to show.
"""
