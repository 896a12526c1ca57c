from overlap_days import overlap_days

def test_inside():
    assert overlap_days((1, 10), (3, 5)) == 3

def test_one_day():
    assert overlap_days((1, 3), (3, 9)) == 1

def test_apart():
    assert overlap_days((1, 2), (5, 6)) == 0

def test_neighbours():
    assert overlap_days((1, 2), (3, 4)) == 0
