from on_call import on_call

def test_first_day():
    assert on_call(['ann', 'bo', 'cy'], 0) == 'ann'

def test_last_day_of_a_shift():
    assert on_call(['ann', 'bo', 'cy'], 6) == 'ann'

def test_next():
    assert on_call(['ann', 'bo', 'cy'], 7) == 'bo'

def test_wraps():
    assert on_call(['ann', 'bo', 'cy'], 21) == 'ann'

def test_short_shift():
    assert on_call(['ann', 'bo'], 1, 1) == 'bo'
