from branch_name import branch_name

def test_words():
    assert branch_name('Fix the parser') == 'fix-the-parser'

def test_signs():
    assert branch_name('Fix: (really)!') == 'fix-really'

def test_leading():
    assert branch_name('  now') == 'now'

def test_limit():
    assert branch_name('abcdefghij', 4) == 'abcd'
