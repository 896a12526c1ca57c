def simulate_queue(events):
    queue = []
    served = []
    for kind, *rest in events:
        if kind == 'join':
            queue.append(rest[0])
        elif kind == 'vip':
            queue.insert(0, rest[0])
        elif kind == 'serve' and queue:
            served.append(queue.pop(0))
        elif kind == 'leave' and rest[0] in queue:
            queue.remove(rest[0])
    return served, queue
#> [('join', 'a'), ('join', 'b'), ('serve',)] ;; [] ;; [('serve',)] ;; [('join', 'a'), ('vip', 'b'), ('serve',)] ;; [('join', 'a'), ('join', 'b'), ('leave', 'a'), ('serve',)] ;; [('leave', 'z'), ('join', 'q')]

def lru(capacity, accesses):
    order = []
    misses = 0
    for key in accesses:
        if key in order:
            order.remove(key)
        else:
            misses += 1
            if len(order) >= capacity:
                order.pop(0)
        order.append(key)
    return misses, order
#> 2, ['a', 'b', 'a', 'c'] ;; 1, ['x', 'x'] ;; 3, [] ;; 2, [1, 2, 3, 1] ;; 2, ['a', 'b', 'c', 'b', 'd'] ;; 3, [1, 2, 3, 4, 2, 5]
#~ order.remove(key) ==> continue

def vending(coins, price):
    inserted = 0
    sold = 0
    for coin in coins:
        if coin not in (5, 10, 25):
            continue
        inserted += coin
        while inserted >= price:
            inserted -= price
            sold += 1
    return sold, inserted
#> [25, 25], 40 ;; [], 10 ;; [5, 5, 3], 10 ;; [25, 25, 25, 25], 20 ;; [10, 1, 10], 25 ;; [25], 25

def elevator(start, calls):
    floor = start
    moved = 0
    stops = []
    for target in calls:
        if target == floor:
            continue
        moved += abs(target - floor)
        floor = target
        stops.append(floor)
    return moved, stops
#> 0, [3, 1] ;; 2, [] ;; 1, [1, 1] ;; 5, [0, 5, 5, 2] ;; 3, [-1, 4] ;; 4, [4, 6]

def bank(transfers, balances):
    balances = dict(balances)
    failed = 0
    for source, target, amount in transfers:
        if amount <= 0 or source == target or balances.get(source, 0) < amount:
            failed += 1
            continue
        balances[source] -= amount
        balances[target] = balances.get(target, 0) + amount
    return balances, failed
#> [('a', 'b', 5)], {'a': 10} ;; [('a', 'b', 11)], {'a': 10} ;; [], {} ;; [('a', 'a', 1)], {'a': 5} ;; [('a', 'b', 10), ('b', 'a', 4)], {'a': 10, 'b': 0} ;; [('a', 'b', 0), ('x', 'y', 1)], {'a': 1}

def robot(commands):
    x = y = 0
    dx, dy = 0, 1
    for command in commands:
        if command == 'L':
            dx, dy = -dy, dx
        elif command == 'R':
            dx, dy = dy, -dx
        else:
            x += dx
            y += dy
    return x, y
#> 'F' ;; 'RF' ;; 'LFF' ;; '' ;; 'FRFRFRF' ;; 'FFLFFR' ;; 'RRFF' ;; 'LLLFF'

def life_step(cells):
    counts = {}
    for x, y in cells:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    place = (x + dx, y + dy)
                    counts[place] = counts.get(place, 0) + 1
    return sorted(place for place, n in counts.items() if n == 3 or (n == 2 and place in cells))
#> [(0, 0), (1, 0), (2, 0)] ;; [] ;; [(0, 0)] ;; [(0, 0), (0, 1), (1, 0), (1, 1)] ;; [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] ;; [(0, 0), (1, 1)]

def undo_log(actions):
    done = []
    undone = []
    for action in actions:
        if action == 'undo':
            if done:
                undone.append(done.pop())
        elif action == 'redo':
            if undone:
                done.append(undone.pop())
        else:
            done.append(action)
            undone.clear()
    return done
#> ['a', 'b', 'undo'] ;; [] ;; ['undo', 'x'] ;; ['a', 'undo', 'redo'] ;; ['a', 'undo', 'b', 'redo'] ;; ['a', 'b', 'undo', 'undo', 'redo'] ;; ['redo']
#~ undone.clear() ==> pass

def tic_tac_toe(board):
    lines = [board[0], board[1], board[2]]
    lines += [board[0][c] + board[1][c] + board[2][c] for c in range(3)]
    lines.append(board[0][0] + board[1][1] + board[2][2])
    lines.append(board[0][2] + board[1][1] + board[2][0])
    for player in 'xo':
        if player * 3 in lines:
            return player
    return 'draw' if '.' not in ''.join(board) else None
#> ['xxx', 'oo.', '...'] ;; ['...', '...', '...'] ;; ['xox', 'xxo', 'oxo'] ;; ['o.x', 'ox.', 'o.x'] ;; ['x..', '.xo', 'o.x'] ;; ['x.o', 'xo.', 'o.x'] ;; ['ox.', '.x.', '.xo']

def spiral(rows):
    out = []
    rows = [list(row) for row in rows]
    while rows:
        out += rows.pop(0)
        if rows and rows[0]:
            for row in rows:
                out.append(row.pop())
        if rows:
            out += rows.pop()[::-1]
        if rows and rows[0]:
            for row in rows[::-1]:
                out.append(row.pop(0))
    return out
#> [[1, 2], [3, 4]] ;; [] ;; [[1, 2, 3], [4, 5, 6], [7, 8, 9]] ;; [[1]] ;; [[1, 2, 3, 4]] ;; [[1, 2, 3], [4, 5, 6]] ;; [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]

def turn_right(grid):
    return [list(row) for row in zip(*grid[::-1])]
#> [[1, 2], [3, 4]] ;; [] ;; [[1, 2, 3]] ;; [[1], [2]] ;; [[1, 2, 3], [4, 5, 6]]

def snake_score(moves, food):
    x = y = 0
    body = [(0, 0)]
    score = 0
    for move in moves:
        dx, dy = {'U': (0, 1), 'D': (0, -1), 'L': (-1, 0), 'R': (1, 0)}[move]
        x, y = x + dx, y + dy
        if (x, y) in body[1:]:
            return score, True
        body.append((x, y))
        if food and (x, y) == food[0]:
            food = food[1:]
            score += 1
        else:
            body.pop(0)
    return score, False
#> 'RR', [(1, 0)] ;; '', [] ;; 'RUL', [(1, 0), (1, 1), (0, 1)] ;; 'LL', [(5, 5)] ;; 'RRULD', [(1, 0), (2, 0), (2, 1), (1, 1)] ;; 'UUDR', [(0, 1), (0, 2)] ;; 'RL', [(1, 0), (0, 0)]

def schedule_tasks(tasks, workers):
    free = [0] * workers
    finish = {}
    for name, length in tasks:
        at = free.index(min(free))
        free[at] += length
        finish[name] = free[at]
    return finish, max(free)
#> [('a', 3), ('b', 2), ('c', 1)], 2 ;; [], 1 ;; [('x', 5)], 3 ;; [('a', 1), ('b', 1), ('c', 1)], 1 ;; [('p', 4), ('q', 1), ('r', 2), ('s', 3)], 2 ;; [('k', 0), ('l', 2)], 2

def rate_limit(times, limit, window):
    allowed = []
    recent = []
    for time in times:
        recent = [one for one in recent if time - one < window]
        if len(recent) < limit:
            recent.append(time)
            allowed.append(time)
    return allowed
#> [1, 2, 3], 2, 10 ;; [], 1, 1 ;; [0, 5, 10], 1, 5 ;; [1, 1, 1, 1], 3, 2 ;; [0, 3, 6, 9, 12], 2, 7 ;; [1, 2], 0, 5

def traffic_light(seconds, green=30, yellow=5, red=25):
    cycle = green + yellow + red
    at = seconds % cycle
    if at < green:
        return 'green'
    if at < green + yellow:
        return 'yellow'
    return 'red'
#> 0 ;; 30 ;; 34 ;; 35 ;; 59 ;; 60 ;; 95 ;; 10, 5, 5, 5 ;; 12, 10, 3, 2

def stack_machine(program):
    stack = []
    at = 0
    steps = 0
    while at < len(program) and steps < 200:
        steps += 1
        op, *args = program[at].split()
        if op == 'push':
            stack.append(int(args[0]))
        elif op == 'add':
            stack.append(stack.pop() + stack.pop())
        elif op == 'dup':
            stack.append(stack[-1])
        elif op == 'jump' and stack and stack[-1] < int(args[0]):
            at = int(args[1])
            continue
        elif op == 'drop':
            stack.pop()
        at += 1
    return stack
#> ['push 1', 'push 2', 'add'] ;; [] ;; ['push 4', 'dup', 'add'] ;; ['push 1', 'push 1', 'add', 'jump 5 1'] ;; ['push 3', 'drop'] ;; ['push 2', 'jump 2 0', 'push 7'] ;; ['push 0', 'push 3', 'add', 'dup', 'jump 9 1']

def pagination(total, size, page, around=1):
    pages = max(1, (total + size - 1) // size)
    page = max(1, min(pages, page))
    first = (page - 1) * size
    last = min(total, first + size)
    near = [one for one in range(page - around, page + around + 1) if 1 <= one <= pages]
    return {'page': page, 'pages': pages, 'from': first, 'to': last, 'near': near}
#> 95, 10, 1 ;; 95, 10, 10 ;; 0, 10, 3 ;; 20, 10, 2 ;; 21, 10, 9 ;; 50, 5, 5, 2 ;; 7, 3, -1

def inventory_value(moves, method='fifo'):
    lots = []
    cost = 0
    for kind, amount, price in moves:
        if kind == 'buy':
            lots.append([amount, price])
            continue
        while amount > 0 and lots:
            at = 0 if method == 'fifo' else -1
            taken = min(amount, lots[at][0])
            cost += taken * lots[at][1]
            lots[at][0] -= taken
            amount -= taken
            if lots[at][0] == 0:
                lots.pop(at)
    return cost, sum(amount * price for amount, price in lots)
#> [('buy', 2, 10), ('buy', 1, 20), ('sell', 2, 0)] ;; [] ;; [('buy', 2, 10), ('buy', 1, 20), ('sell', 2, 0)], 'lifo' ;; [('sell', 1, 0)] ;; [('buy', 5, 1), ('sell', 3, 0), ('sell', 3, 0)] ;; [('buy', 1, 7), ('buy', 3, 9), ('sell', 2, 0), ('buy', 1, 1)], 'lifo'

def sequence_gaps(numbers):
    gaps = []
    expected = None
    for number in sorted(set(numbers)):
        if expected is not None and number > expected:
            gaps.append((expected, number - 1))
        expected = number + 1
    return gaps
#> [1, 2, 5] ;; [] ;; [3] ;; [1, 3, 6] ;; [4, 2, 2, 1] ;; [10, 20] ;; [-1, 1]
