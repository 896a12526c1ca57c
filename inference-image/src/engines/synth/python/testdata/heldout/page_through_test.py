from page_through import page_through

def source(count):
    return lambda offset, limit: list(range(count))[offset:offset + limit]

def test_one_page():
    assert page_through(source(2), 5) == [0, 1]

def test_pages():
    assert page_through(source(7), 3) == list(range(7))

def test_full_pages():
    assert page_through(source(4), 2) == [0, 1, 2, 3]

def test_singles():
    assert page_through(source(3), 1) == [0, 1, 2]
