from best_candidate import best_candidate

def test_positive():
    assert best_candidate([('a', 1), ('b', 3), ('c', 2)]) == 'b'

def test_negative():
    assert best_candidate([('a', -4), ('b', -2)]) == 'b'

def test_equal():
    assert best_candidate([('a', 5), ('b', 5)]) == 'a'

def test_zero():
    assert best_candidate([('a', 0)]) == 'a'

def test_none():
    assert best_candidate([]) is None
