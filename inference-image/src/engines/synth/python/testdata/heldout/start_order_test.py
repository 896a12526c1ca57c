from start_order import start_order

def test_chain():
    assert start_order({'a': [], 'b': ['a'], 'c': ['b']}) == ['a', 'b', 'c']

def test_diamond():
    assert start_order({'a': [], 'b': ['a'], 'c': ['a'], 'd': ['b', 'c']}) == ['a', 'b', 'c', 'd']

def test_alone():
    assert start_order({'x': []}) == ['x']

def test_circle():
    try:
        start_order({'a': ['b'], 'b': ['a']})
    except ValueError:
        return
    assert False
