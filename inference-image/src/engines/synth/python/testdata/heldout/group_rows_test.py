from group_rows import group_rows

def test_two_groups():
    rows = [{'k': 1, 'v': 'a'}, {'k': 2, 'v': 'b'}, {'k': 1, 'v': 'c'}]
    assert group_rows(rows, 'k') == {1: [rows[0], rows[2]], 2: [rows[1]]}

def test_absent():
    assert group_rows([{'v': 1}], 'k') == {}

def test_one():
    assert group_rows([{'k': 'x'}], 'k') == {'x': [{'k': 'x'}]}
