def gcd(a, b):
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a
#> 12, 18 ;; 7, 13 ;; 0, 5 ;; 9, 0 ;; -8, 12 ;; 100, 75 ;; 0, 0

def is_prime(n):
    if n < 2:
        return False
    if n % 2 == 0:
        return n == 2
    step = 3
    while step * step <= n:
        if n % step == 0:
            return False
        step += 2
    return True
#> 2 ;; 9 ;; 1 ;; 17 ;; 0 ;; 25 ;; 49 ;; 97 ;; 4 ;; 121
#~ step * step <= n ==> step * step < n

def digits_sum(n):
    total = 0
    n = abs(n)
    while n > 0:
        total += n % 10
        n //= 10
    return total
#> 123 ;; 0 ;; -45 ;; 1000 ;; 99 ;; 7 ;; 506

def to_base(n, base):
    if n == 0:
        return '0'
    digits = '0123456789abcdefghijklmnopqrstuvwxyz'
    negative = n < 0
    n = abs(n)
    out = ''
    while n:
        out = digits[n % base] + out
        n //= base
    return '-' + out if negative else out
#> 10, 2 ;; 255, 16 ;; 0, 7 ;; -5, 3 ;; 35, 36 ;; 8, 8 ;; 1, 2 ;; -255, 16

def roman(n):
    table = [(1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]
    out = ''
    for value, letters in table:
        while n >= value:
            out += letters
            n -= value
    return out
#> 4 ;; 1994 ;; 1 ;; 58 ;; 3999 ;; 9 ;; 40 ;; 500 ;; 2024

def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
#> 0 ;; 1 ;; 2 ;; 7 ;; 10 ;; 20 ;; 3

def collatz_steps(n):
    steps = 0
    while n != 1 and steps < 1000:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps
#> 1 ;; 6 ;; 7 ;; 2 ;; 27 ;; 8 ;; 3

def factorize(n):
    factors = []
    divisor = 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
    if n > 1:
        factors.append(n)
    return factors
#> 12 ;; 13 ;; 1 ;; 100 ;; 49 ;; 2 ;; 30 ;; 97 ;; 64
#~ if n > 1 ==> if n > 2

def clamp(value, low, high):
    if low > high:
        low, high = high, low
    return max(low, min(high, value))
#> 5, 0, 10 ;; -1, 0, 10 ;; 11, 0, 10 ;; 5, 10, 0 ;; 0, 0, 0 ;; 12, 10, 3 ;; 3, 3, 7

def round_to(value, step):
    if step <= 0:
        return value
    below = value // step * step
    if value - below >= step / 2:
        return below + step
    return below
#> 7, 5 ;; 8, 5 ;; 10, 5 ;; 2.5, 1 ;; 3, 0 ;; -7, 5 ;; 12, 8 ;; 99, 100

def compound(amount, rate, years, per_year=1):
    for _ in range(years * per_year):
        amount += amount * rate / per_year
    return round(amount, 2)
#> 100, 0.1, 2 ;; 100, 0.05, 0 ;; 1000, 0.12, 1, 12 ;; 50, 0, 5 ;; 200, 0.5, 1, 2 ;; 10, 0.02, 3, 4

def variance(values):
    if len(values) < 2:
        return 0
    mean = sum(values) / len(values)
    total = sum((value - mean) ** 2 for value in values)
    return round(total / (len(values) - 1), 6)
#> [1, 2, 3] ;; [] ;; [5] ;; [2, 2, 2] ;; [1, 5] ;; [10, 20, 40, 80] ;; [-1, 1]

def perfect_numbers(limit):
    found = []
    for n in range(2, limit + 1):
        total = 1
        for divisor in range(2, int(n ** 0.5) + 1):
            if n % divisor == 0:
                total += divisor
                if divisor != n // divisor:
                    total += n // divisor
        if total == n:
            found.append(n)
    return found
#> 6 ;; 5 ;; 30 ;; 1 ;; 500 ;; 28 ;; 27

def change(amount, coins):
    coins = sorted(coins, reverse=True)
    used = []
    for coin in coins:
        while amount >= coin:
            amount -= coin
            used.append(coin)
    return used if amount == 0 else None
#> 30, [25, 10, 5] ;; 3, [5] ;; 0, [1] ;; 41, [1, 5, 10, 25] ;; 7, [2] ;; 99, [50, 20, 5, 1] ;; 4, [1, 2, 4]

def min_coins(amount, coins):
    best = [0] + [None] * amount
    for value in range(1, amount + 1):
        for coin in coins:
            if coin <= value and best[value - coin] is not None:
                count = best[value - coin] + 1
                if best[value] is None or count < best[value]:
                    best[value] = count
    return best[amount]
#> 6, [1, 3, 4] ;; 0, [5] ;; 3, [2] ;; 11, [1, 2, 5] ;; 7, [7] ;; 14, [5, 3] ;; 8, [1, 4, 5]

def percent(part, whole, digits=1):
    if whole == 0:
        return '0%'
    value = round(100 * part / whole, digits)
    if value == int(value):
        return '{}%'.format(int(value))
    return '{}%'.format(value)
#> 1, 2 ;; 1, 3 ;; 0, 5 ;; 3, 0 ;; 2, 3, 2 ;; 5, 5 ;; 1, 8, 0 ;; 7, 9

def power_mod(base, exponent, modulus):
    result = 1 % modulus
    base = base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent //= 2
    return result
#> 2, 10, 1000 ;; 3, 0, 7 ;; 5, 3, 13 ;; 7, 7, 1 ;; 10, 5, 3 ;; 2, 1, 5 ;; 9, 6, 11

def luhn_ok(number):
    total = 0
    for at, char in enumerate(reversed(number)):
        digit = int(char)
        if at % 2 == 1:
            digit *= 2
            if digit > 9:
                digit -= 9
        total += digit
    return total % 10 == 0
#> '79927398713' ;; '79927398710' ;; '0' ;; '18' ;; '4539578763621486' ;; '91' ;; '1234'
#~ digit -= 9 ==> digit -= 10

def triangle_kind(a, b, c):
    a, b, c = sorted([a, b, c])
    if a <= 0 or a + b <= c:
        return 'none'
    if a == c:
        return 'equilateral'
    if a == b or b == c:
        return 'isosceles'
    return 'scalene'
#> 3, 4, 5 ;; 2, 2, 2 ;; 2, 2, 3 ;; 1, 2, 3 ;; 0, 1, 1 ;; 5, 3, 3 ;; 7, 10, 5 ;; 3, 5, 5

def tax(income, brackets):
    owed = 0
    lower = 0
    for upper, rate in brackets:
        if upper is None or income <= upper:
            owed += (income - lower) * rate
            return round(owed, 2)
        owed += (upper - lower) * rate
        lower = upper
    return round(owed, 2)
#> 50, [(100, 0.1), (None, 0.2)] ;; 150, [(100, 0.1), (None, 0.2)] ;; 100, [(100, 0.1), (None, 0.2)] ;; 0, [(10, 0.5)] ;; 500, [(100, 0.1), (300, 0.2), (None, 0.3)] ;; 30, [(10, 0.5)]
#~ lower = upper ==> lower += upper - lower - 1

def next_multiple(n, factor):
    rest = n % factor
    if rest == 0:
        return n
    return n + factor - rest
#> 7, 5 ;; 10, 5 ;; 0, 3 ;; 1, 8 ;; -4, 3 ;; 17, 16 ;; 9, 1
