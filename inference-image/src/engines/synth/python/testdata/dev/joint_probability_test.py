from joint_probability import joint_probability

def test_two():
    assert joint_probability({'a': 0.5, 'b': 0.5}) == 0.25

def test_some():
    assert joint_probability({'a': 0.5, 'b': 0.1}, ['a']) == 0.5

def test_never():
    assert joint_probability({'a': 0.5, 'b': 0}) == 0
