from add_label import add_label

def test_adds():
    assert add_label('Blue ', ['red']) == ['red', 'blue']

def test_once():
    assert add_label('red', ['red']) == ['red']

def test_starts_empty():
    first = add_label('one')
    second = add_label('two')
    assert second == ['two'], first
