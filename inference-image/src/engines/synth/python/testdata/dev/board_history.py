class Board:
    def __init__(self, size):
        self.cells = [0] * size


def board_history(size, moves):
    """The cells after each move, oldest first."""
    board = Board(size).cells
    history = []
    for position, mark in moves:
        board[position] = mark
        history.append(board)
    return history
