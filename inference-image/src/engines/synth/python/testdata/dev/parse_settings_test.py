from parse_settings import parse_settings

def test_one():
    assert parse_settings('a = 1') == {'a': '1'}

def test_comment():
    assert parse_settings('# x=y\n\nb=2') == {'b': '2'}

def test_equals_in_the_value():
    assert parse_settings('url=http://h/?q=1') == {'url': 'http://h/?q=1'}
