from longest_streak import longest_streak

def test_middle():
    assert longest_streak([False, True, True, False]) == 2

def test_at_the_end():
    assert longest_streak([True, False, True, True]) == 2

def test_all():
    assert longest_streak([True, True, True]) == 3

def test_none():
    assert longest_streak([False]) == 0
