from in_batches import in_batches

def test_one_batch():
    assert in_batches([1, 2], 3) == [[1, 2]]

def test_two_batches():
    assert in_batches([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]

def test_rest():
    assert in_batches('abcde', 2) == ['ab', 'cd', 'e']

def test_bad_size():
    try:
        in_batches([1], 0)
    except ValueError:
        return
    assert False
