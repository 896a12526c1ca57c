from least_loaded import least_loaded

def test_first_wins():
    assert least_loaded({'a': 1, 'b': 3}, 8) == 'a'

def test_last_wins():
    assert least_loaded({'a': 4, 'b': 3}, 8) == 'b'

def test_tie_keeps_order():
    assert least_loaded({'a': 2, 'b': 2}, 8) == 'a'

def test_all_full():
    assert least_loaded({'a': 8, 'b': 9}, 8) is None
