from newer_version import is_newer

def test_major():
    assert is_newer('2.0.0', '1.9.9')

def test_same():
    assert not is_newer('1.2.3', '1.2.3')

def test_two_digits():
    assert is_newer('1.10.0', '1.9.0')

def test_older():
    assert not is_newer('1.9.0', '1.10.0')
