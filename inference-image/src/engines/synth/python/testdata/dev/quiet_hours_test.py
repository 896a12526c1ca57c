from quiet_hours import is_quiet

def test_by_day():
    assert is_quiet(10, 9, 12)
    assert not is_quiet(12, 9, 12)

def test_before_midnight():
    assert is_quiet(23, 22, 6)

def test_after_midnight():
    assert is_quiet(5, 22, 6)

def test_awake():
    assert not is_quiet(12, 22, 6)
    assert not is_quiet(6, 22, 6)

def test_never():
    assert not is_quiet(3, 8, 8)
