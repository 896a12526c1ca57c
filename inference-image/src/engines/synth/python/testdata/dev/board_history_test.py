from board_history import board_history

def test_one_move():
    assert board_history(2, [(0, 5)]) == [[5, 0]]

def test_keeps_the_past():
    assert board_history(2, [(0, 5), (1, 7)]) == [[5, 0], [5, 7]]

def test_nothing():
    assert board_history(3, []) == []
