from merge_windows import merge_windows

def test_apart():
    assert merge_windows([(5, 6), (1, 2)]) == [(1, 2), (5, 6)]

def test_overlap():
    assert merge_windows([(1, 4), (3, 9)]) == [(1, 9)]

def test_inside():
    assert merge_windows([(1, 9), (3, 4)]) == [(1, 9)]

def test_touching():
    assert merge_windows([(1, 3), (3, 5)]) == [(1, 5)]

def test_empty():
    assert merge_windows([]) == []
