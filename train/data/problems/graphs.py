def bfs_distance(graph, start, goal):
    if start == goal:
        return 0
    seen = {start}
    level = [start]
    distance = 0
    while level:
        distance += 1
        following = []
        for node in level:
            for other in graph.get(node, []):
                if other == goal:
                    return distance
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        level = following
    return -1
#> {'a': ['b'], 'b': ['c']}, 'a', 'c' ;; {}, 'x', 'x' ;; {'a': ['b']}, 'b', 'a' ;; {1: [2, 3], 2: [4], 3: [5], 5: [4]}, 1, 5 ;; {'a': ['a']}, 'a', 'b' ;; {1: [2], 2: [3], 3: [4]}, 1, 4

def topological(graph):
    waiting = {node: 0 for node in graph}
    for node in graph:
        for other in graph[node]:
            waiting[other] = waiting.get(other, 0) + 1
    ready = sorted(node for node, count in waiting.items() if count == 0)
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for other in graph.get(node, []):
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
        ready.sort()
    return order if len(order) == len(waiting) else None
#> {'a': ['b'], 'b': ['c'], 'c': []} ;; {} ;; {'a': ['b'], 'b': ['a']} ;; {'x': ['z'], 'y': ['z']} ;; {1: [2, 3], 2: [4], 3: [4], 4: []} ;; {'q': []}

def components(nodes, edges):
    parent = {node: node for node in nodes}
    def root(node):
        while parent[node] != node:
            node = parent[node]
        return node
    for a, b in edges:
        parent[root(a)] = root(b)
    groups = {}
    for node in nodes:
        groups.setdefault(root(node), []).append(node)
    return sorted(sorted(group) for group in groups.values())
#> [1, 2, 3], [(1, 2)] ;; [], [] ;; [1, 2], [] ;; [1, 2, 3, 4], [(1, 2), (3, 4), (2, 3)] ;; ['a', 'b', 'c'], [('a', 'c'), ('c', 'a')] ;; [5], [(5, 5)]

def has_cycle(graph):
    done = set()
    active = set()
    def visit(node):
        if node in active:
            return True
        if node in done:
            return False
        active.add(node)
        for other in graph.get(node, []):
            if visit(other):
                return True
        active.discard(node)
        done.add(node)
        return False
    return any(visit(node) for node in graph)
#> {'a': ['b'], 'b': ['a']} ;; {'a': ['b'], 'b': []} ;; {} ;; {'a': ['a']} ;; {'a': ['b', 'c'], 'b': ['d'], 'c': ['d'], 'd': []} ;; {1: [2], 2: [3], 3: [1]}
#~ active.discard(node) ==> pass

def shortest_path(graph, start, goal):
    costs = {start: 0}
    before = {}
    open_nodes = [start]
    while open_nodes:
        node = min(open_nodes, key=lambda one: costs[one])
        open_nodes.remove(node)
        if node == goal:
            path = [node]
            while node in before:
                node = before[node]
                path.append(node)
            return costs[goal], path[::-1]
        for other, cost in graph.get(node, {}).items():
            total = costs[node] + cost
            if other not in costs or total < costs[other]:
                costs[other] = total
                before[other] = node
                open_nodes.append(other)
    return None
#> {'a': {'b': 1, 'c': 5}, 'b': {'c': 1}}, 'a', 'c' ;; {}, 'x', 'y' ;; {'a': {}}, 'a', 'a' ;; {1: {2: 4, 3: 1}, 3: {2: 1}, 2: {4: 1}}, 1, 4 ;; {'a': {'b': 2}}, 'b', 'a' ;; {'s': {'t': 9, 'u': 4}, 'u': {'t': 4}}, 's', 't'

def depth(tree):
    if not tree:
        return 0
    return 1 + max((depth(child) for child in tree.get('children', [])), default=0)
#> {'children': []} ;; {} ;; {'children': [{'x': 1}, {'children': [{'y': 1}]}]} ;; {'v': 1} ;; None ;; {'children': [{}, {'z': 0}]}

def ancestors(parents, node):
    chain = []
    seen = {node}
    while node in parents:
        node = parents[node]
        if node in seen:
            break
        seen.add(node)
        chain.append(node)
    return chain
#> {'c': 'b', 'b': 'a'}, 'c' ;; {}, 'x' ;; {'a': 'a'}, 'a' ;; {'a': 'b', 'b': 'a'}, 'a' ;; {'z': 'y'}, 'y' ;; {4: 3, 3: 2, 2: 1}, 4

def common_ancestor(parents, first, second):
    seen = set()
    while first is not None:
        seen.add(first)
        first = parents.get(first)
    while second is not None:
        if second in seen:
            return second
        second = parents.get(second)
    return None
#> {'b': 'a', 'c': 'a'}, 'b', 'c' ;; {}, 'x', 'x' ;; {}, 'x', 'y' ;; {'b': 'a', 'c': 'b'}, 'c', 'b' ;; {4: 2, 5: 2, 2: 1, 3: 1}, 5, 3 ;; {4: 2, 5: 2, 2: 1}, 4, 5

def island_count(grid):
    seen = set()
    count = 0
    for row in range(len(grid)):
        for column in range(len(grid[row])):
            if grid[row][column] != '#' or (row, column) in seen:
                continue
            count += 1
            stack = [(row, column)]
            while stack:
                r, c = stack.pop()
                if (r, c) in seen or not (0 <= r < len(grid) and 0 <= c < len(grid[r])):
                    continue
                if grid[r][c] != '#':
                    continue
                seen.add((r, c))
                stack.extend([(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)])
    return count
#> ['#.#', '..#'] ;; [] ;; ['###'] ;; ['...'] ;; ['#.', '.#'] ;; ['##.', '#.#', '..#', '#..'] ;; ['#', '#']

def in_degree(edges):
    counts = {}
    for source, target in edges:
        counts.setdefault(source, 0)
        counts[target] = counts.get(target, 0) + 1
    return counts
#> [('a', 'b')] ;; [] ;; [('a', 'b'), ('c', 'b')] ;; [(1, 1)] ;; [(1, 2), (2, 3), (1, 3)]

def flood(grid, row, column, color):
    old = grid[row][column]
    if old == color:
        return grid
    stack = [(row, column)]
    while stack:
        r, c = stack.pop()
        if 0 <= r < len(grid) and 0 <= c < len(grid[0]) and grid[r][c] == old:
            grid[r][c] = color
            stack += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
    return grid
#> [[1, 1], [0, 1]], 0, 0, 2 ;; [[1]], 0, 0, 1 ;; [[0, 1], [1, 0]], 1, 1, 5 ;; [[3, 3, 3]], 0, 1, 4 ;; [[1, 2], [2, 2], [2, 1]], 1, 0, 9 ;; [[7, 7], [7, 7]], 1, 1, 0

def build_order(needs):
    order = []
    def add(name):
        if name in order:
            return
        for need in sorted(needs.get(name, [])):
            add(need)
        order.append(name)
    for name in sorted(needs):
        add(name)
    return order
#> {'app': ['lib'], 'lib': []} ;; {} ;; {'a': ['c', 'b']} ;; {'x': ['y'], 'z': ['y']} ;; {'m': ['n'], 'n': ['o'], 'o': []} ;; {'b': [], 'a': ['b']}

def mst_weight(nodes, edges):
    group = {node: node for node in nodes}
    total = 0
    used = 0
    for weight, a, b in sorted(edges):
        while group[a] != a:
            a = group[a]
        while group[b] != b:
            b = group[b]
        if a != b:
            group[a] = b
            total += weight
            used += 1
    return total if used == len(nodes) - 1 else None
#> ['a', 'b', 'c'], [(1, 'a', 'b'), (2, 'b', 'c'), (9, 'a', 'c')] ;; [1, 2], [] ;; [1], [] ;; [1, 2, 3], [(5, 1, 2), (1, 1, 3), (1, 2, 3)] ;; [1, 2, 3, 4], [(1, 1, 2), (1, 3, 4)] ;; [1, 2, 3, 4], [(4, 1, 2), (3, 2, 3), (2, 3, 4), (1, 4, 1)]

def bipartite(graph):
    color = {}
    for start in graph:
        if start in color:
            continue
        color[start] = 0
        queue = [start]
        while queue:
            node = queue.pop(0)
            for other in graph[node]:
                if other not in color:
                    color[other] = 1 - color[node]
                    queue.append(other)
                elif color[other] == color[node]:
                    return False
    return True
#> {1: [2], 2: [1]} ;; {1: [2, 3], 2: [1, 3], 3: [1, 2]} ;; {} ;; {1: [1]} ;; {1: [2], 2: [1, 3], 3: [2, 4], 4: [3]} ;; {'a': [], 'b': []}

def reachable(graph, start, blocked=()):
    found = []
    stack = [start]
    while stack:
        node = stack.pop()
        if node in found or node in blocked:
            continue
        found.append(node)
        stack.extend(graph.get(node, []))
    return sorted(found)
#> {'a': ['b', 'c'], 'b': ['d']}, 'a' ;; {}, 'z' ;; {'a': ['b'], 'b': ['c']}, 'a', ['b'] ;; {1: [2], 2: [1]}, 2 ;; {1: [2, 3], 3: [4]}, 1, (3,) ;; {'s': ['s']}, 's', ('s',)

def leaf_sums(tree, total=0):
    value, children = tree
    total += value
    if not children:
        return [total]
    out = []
    for child in children:
        out.extend(leaf_sums(child, total))
    return out
#> (1, []) ;; (1, [(2, []), (3, [])]) ;; (0, [(5, [(1, [])])]) ;; (2, [(2, [(2, []), (3, [])]), (4, [])]) ;; (-1, [(1, [])]), 10 ;; (3, []), 4

def degrees_of_separation(friends, person):
    distance = {person: 0}
    queue = [person]
    while queue:
        current = queue.pop(0)
        for friend in friends.get(current, []):
            if friend not in distance:
                distance[friend] = distance[current] + 1
                queue.append(friend)
    return distance
#> {'a': ['b'], 'b': ['c']}, 'a' ;; {}, 'x' ;; {'a': ['b', 'c'], 'b': ['d'], 'c': ['d']}, 'a' ;; {1: [2], 2: [1]}, 1 ;; {'p': ['q', 'r'], 'q': ['r'], 'r': ['s']}, 'p'
