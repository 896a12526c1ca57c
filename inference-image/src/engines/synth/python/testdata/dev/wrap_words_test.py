from wrap_words import wrap_words

def test_one_line():
    assert wrap_words('to be', 10) == ['to be']

def test_two_lines():
    assert wrap_words('to be or not', 5) == ['to be', 'or', 'not']

def test_long_word():
    assert wrap_words('a elephant', 3) == ['a', 'elephant']

def test_empty():
    assert wrap_words('  ', 5) == []
