from parse_duration import parse_duration

def test_seconds():
    assert parse_duration('45s') == 45

def test_hours():
    assert parse_duration('2h') == 7200

def test_mixed():
    assert parse_duration('1h30m') == 5400

def test_three():
    assert parse_duration('1h1m1s') == 3661

def test_empty():
    assert parse_duration('') == 0
