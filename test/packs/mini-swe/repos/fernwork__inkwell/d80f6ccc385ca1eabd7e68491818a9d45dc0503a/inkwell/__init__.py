from inkwell.page import render

__all__ = ["render"]
