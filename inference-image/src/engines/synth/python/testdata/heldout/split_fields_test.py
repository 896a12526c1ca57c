from split_fields import split_fields

def test_plain():
    assert split_fields('a,b') == ['a', 'b']

def test_quoted():
    assert split_fields('"a,b"') == ['a,b']

def test_after_quotes():
    assert split_fields('"a,b",c') == ['a,b', 'c']

def test_empty_field():
    assert split_fields(',x') == ['', 'x']
