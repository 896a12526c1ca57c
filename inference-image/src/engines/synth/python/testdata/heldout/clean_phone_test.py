from clean_phone import clean_phone

def test_national():
    assert clean_phone('030 12345') == '+49 3012345'

def test_international():
    assert clean_phone('+44 20 7946') == '+44 207946'

def test_none():
    assert clean_phone('n/a') is None
