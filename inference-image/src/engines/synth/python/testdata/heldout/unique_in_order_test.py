from unique_in_order import unique_in_order

def test_numbers():
    assert unique_in_order([3, 1, 3, 2, 1]) == [3, 1, 2]

def test_case():
    assert unique_in_order(['A', 'a', 'b'], fold_case=True) == ['A', 'b']

def test_empty():
    assert unique_in_order([]) == []
