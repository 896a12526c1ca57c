from fleet_health import is_healthy

def node(name, ready):
    return {'name': name, 'ready': ready}

def test_all():
    assert is_healthy([node('a', True), node('b', True)])

def test_one_down():
    assert not is_healthy([node('a', True), node('b', False)])

def test_tolerated():
    assert is_healthy([node('a', True), node('b', False)], ['b'])

def test_empty():
    assert is_healthy([])
