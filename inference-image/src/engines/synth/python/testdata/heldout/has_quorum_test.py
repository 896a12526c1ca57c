from has_quorum import has_quorum

def test_two_of_three():
    assert has_quorum(['a', 'b', 'c'], ['a', 'b'])

def test_one_of_three():
    assert not has_quorum(['a', 'b', 'c'], ['c'])

def test_half_is_not_enough():
    assert not has_quorum(['a', 'b', 'c', 'd'], ['a', 'b'])

def test_strangers():
    assert not has_quorum(['a', 'b', 'c'], ['x', 'y', 'a'])

def test_nobody():
    assert not has_quorum([], [])
