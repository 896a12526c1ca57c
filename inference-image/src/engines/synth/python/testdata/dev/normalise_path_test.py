from normalise_path import normalise_path

def test_plain():
    assert normalise_path('/a/b') == '/a/b'

def test_dots():
    assert normalise_path('/a/./b/../c') == '/a/c'

def test_slashes():
    assert normalise_path('//a///b/') == '/a/b'

def test_above_the_root():
    assert normalise_path('/../a') == '/a'
