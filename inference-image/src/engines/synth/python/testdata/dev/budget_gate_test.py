from budget_gate import Budget

def test_within():
    budget = Budget(10)
    assert budget.charge(4)
    assert budget.spent == 4

def test_beyond():
    budget = Budget(10)
    assert not budget.charge(11)
    assert budget.spent == 0

def test_exactly():
    assert Budget(10).charge(10)

def test_forced():
    budget = Budget(1)
    assert budget.charge(5, force=True)
    assert budget.spent == 5
