from rolling_mean import rolling_mean

def test_pairs():
    assert rolling_mean([1, 3, 5], 2) == [2, 4]

def test_whole():
    assert rolling_mean([2, 4], 2) == [3]

def test_too_wide():
    assert rolling_mean([1], 2) == []

def test_no_size():
    assert rolling_mean([1], 0) == []
