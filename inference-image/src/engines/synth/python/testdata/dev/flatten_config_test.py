from flatten_config import flatten_config

def test_flat():
    assert flatten_config({'a': 1, 'b': 2}) == {'a': 1, 'b': 2}

def test_nested():
    assert flatten_config({'a': {'b': 1}}) == {'a.b': 1}

def test_deep():
    assert flatten_config({'a': {'b': {'c': 3}}, 'd': 4}) == {'a.b.c': 3, 'd': 4}
