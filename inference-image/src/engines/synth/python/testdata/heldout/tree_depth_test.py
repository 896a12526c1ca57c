from tree_depth import tree_depth

def test_leaf():
    assert tree_depth(3) == 0

def test_flat():
    assert tree_depth([1, 2]) == 1

def test_nested():
    assert tree_depth([1, [2, [3]]]) == 3

def test_empty():
    assert tree_depth([]) == 1

def test_empty_child():
    assert tree_depth([[], 1]) == 2
