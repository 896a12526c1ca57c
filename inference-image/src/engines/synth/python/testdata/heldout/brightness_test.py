from brightness import brighten

def test_brighter():
    assert brighten([[1, 2], [3, 4]], 10) == [[11, 12], [13, 14]]

def test_white():
    assert brighten([[250]], 10) == [[255]]

def test_black():
    assert brighten([[5]], -10) == [[0]]
