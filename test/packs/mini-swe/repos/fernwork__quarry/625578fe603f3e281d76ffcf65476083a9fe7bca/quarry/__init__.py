from quarry.evaluate import select
from quarry.parser import SyntaxFault, parse

__all__ = ["SyntaxFault", "parse", "select"]
