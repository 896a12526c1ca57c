def running_balance(opening, amounts):
    """The balance after each amount; payments below zero are refused."""
    balance = opening
    balances = []
    for amount in amounts:
        if balance + amount < 0:
            raise ValueError('the account would be overdrawn')
        balances.append(balance)
        balance += amount
    return balances
