from session_expiry import live_sessions

def test_default():
    assert live_sessions({'a': {'started': 0}}, 59) == ['a']

def test_expired():
    assert live_sessions({'a': {'started': 0}}, 60) == []

def test_own_ttl():
    assert live_sessions({'a': {'started': 0, 'ttl': 5}, 'b': {'started': 0}}, 30) == ['b']

def test_long_ttl():
    assert live_sessions({'a': {'started': 0, 'ttl': 500}}, 300) == ['a']
