from backoff_delays import backoff_delays

def test_grows():
    assert backoff_delays(1, 2, 100, 4) == [1, 2, 4, 8]

def test_is_capped():
    assert backoff_delays(5, 3, 20, 4) == [5, 15, 20, 20]

def test_none():
    assert backoff_delays(1, 2, 3, 0) == []
