from read_port import read_port

def test_number():
    assert read_port({'port': '8080'}, 1) == 8080

def test_absent():
    assert read_port({}, 7) == 7

def test_words():
    assert read_port({'port': 'http'}, 80) == 80

def test_too_large():
    assert read_port({'port': '70000'}, 80) == 80
