from has_conflict import has_conflict

def test_first():
    assert has_conflict([(1, 5)], (4, 6)) is True

def test_second():
    assert has_conflict([(1, 2), (5, 9)], (6, 7)) is True

def test_free():
    assert has_conflict([(1, 2), (5, 9)], (2, 5)) is False

def test_no_bookings():
    assert has_conflict([], (1, 2)) is False
