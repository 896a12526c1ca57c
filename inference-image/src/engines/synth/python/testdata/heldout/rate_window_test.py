from rate_window import RateWindow

def test_below_the_limit():
    window = RateWindow(2, 10)
    assert window.allow(0)
    assert window.allow(1)

def test_limit():
    window = RateWindow(2, 10)
    assert [window.allow(t) for t in (0, 1, 2)] == [True, True, False]

def test_forgets():
    window = RateWindow(1, 10)
    assert window.allow(0)
    assert window.allow(10)

def test_does_not_forget_early():
    window = RateWindow(1, 10)
    assert window.allow(0)
    assert not window.allow(9)
