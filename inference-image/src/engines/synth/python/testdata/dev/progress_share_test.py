from progress_share import progress_share

def test_half():
    assert progress_share(['done', 'open']) == 0.5

def test_all():
    assert progress_share(['done', 'done']) == 1

def test_none():
    assert progress_share(['open']) == 0

def test_empty():
    assert progress_share([]) == 1.0
