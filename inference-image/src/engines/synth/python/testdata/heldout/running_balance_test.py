from running_balance import running_balance

def test_deposits():
    assert running_balance(10, [5, 5]) == [15, 20]

def test_payment():
    assert running_balance(10, [-10]) == [0]

def test_nothing():
    assert running_balance(3, []) == []

def test_overdrawn():
    try:
        running_balance(1, [-2])
    except ValueError:
        return
    assert False
