class Budget:
    def __init__(self, limit):
        self.limit = limit
        self.spent = 0

    def charge(self, amount, force=False):
        """Whether the amount was charged; forced charges may pass the limit."""
        if amount < 0:
            raise ValueError('amount must not be negative')
        if not force:
            self.spent += amount
            return True
        if self.spent + amount > self.limit:
            return False
        self.spent += amount
        return True
