def invert(mapping):
    out = {}
    for key, value in mapping.items():
        out.setdefault(value, []).append(key)
    return out
#> {'a': 1, 'b': 2} ;; {} ;; {'a': 1, 'b': 1} ;; {1: 'x', 2: 'y', 3: 'x'} ;; {'k': None} ;; {'p': 0, 'q': 0, 'r': 0}

def merge_deep(base, extra):
    out = dict(base)
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge_deep(out[key], value)
        else:
            out[key] = value
    return out
#> {'a': 1}, {'b': 2} ;; {'a': {'x': 1}}, {'a': {'y': 2}} ;; {}, {} ;; {'a': {'x': 1}}, {'a': 3} ;; {'a': 1}, {'a': {'z': 0}} ;; {'m': {'n': {'o': 1}}}, {'m': {'n': {'p': 2}}}
#~ merge_deep(out[key], value) ==> value

def count_by(items, key):
    counts = {}
    for item in items:
        group = item.get(key, 'unknown')
        counts[group] = counts.get(group, 0) + 1
    return counts
#> [{'c': 'r'}, {'c': 'b'}, {'c': 'r'}], 'c' ;; [], 'x' ;; [{'a': 1}], 'b' ;; [{'k': 1}, {'k': 2}, {}], 'k' ;; [{'k': 'v'}, {'k': 'v'}], 'k'

def most_common(values, n):
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [value for value, _ in ranked[:n]]
#> ['a', 'b', 'a'], 1 ;; [], 2 ;; ['b', 'a'], 2 ;; [3, 3, 2, 2, 1], 2 ;; ['x', 'y', 'y', 'z', 'z', 'z'], 3 ;; [1, 1, 2], 0

def pick_keys(mapping, keys, default=None):
    out = {}
    for key in keys:
        if key in mapping:
            out[key] = mapping[key]
        elif default is not None:
            out[key] = default
    return out
#> {'a': 1, 'b': 2}, ['a'] ;; {}, ['x'] ;; {'a': 1}, ['a', 'z'], 0 ;; {'k': None}, ['k'] ;; {'a': 1}, [] ;; {'p': 3}, ['q', 'p'], 'd'

def diff(old, new):
    added = sorted(key for key in new if key not in old)
    removed = sorted(key for key in old if key not in new)
    changed = sorted(key for key in old if key in new and old[key] != new[key])
    return {'added': added, 'removed': removed, 'changed': changed}
#> {'a': 1}, {'b': 1} ;; {}, {} ;; {'a': 1}, {'a': 2} ;; {'a': 1, 'b': 2}, {'a': 1, 'b': 2} ;; {'x': 1, 'y': 2}, {'y': 3, 'z': 4} ;; {'q': 0}, {}

def set_path(tree, path, value):
    node = tree
    parts = path.split('.')
    for part in parts[:-1]:
        if not isinstance(node.get(part), dict):
            node[part] = {}
        node = node[part]
    node[parts[-1]] = value
    return tree
#> {}, 'a.b', 1 ;; {'a': {'c': 2}}, 'a.b', 1 ;; {}, 'x', 5 ;; {'a': 3}, 'a.b', 1 ;; {'a': {'b': {'c': 1}}}, 'a.b.c', 9 ;; {'k': 1}, 'k', 2

def get_path(tree, path, default=None):
    node = tree
    for part in path.split('.'):
        if isinstance(node, list) and part.isdigit():
            at = int(part)
            if at >= len(node):
                return default
            node = node[at]
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            return default
    return node
#> {'a': {'b': 1}}, 'a.b' ;; {}, 'x' ;; {'a': [10, 20]}, 'a.1' ;; {'a': [1]}, 'a.1', 'none' ;; {'a': 1}, 'a.b', 0 ;; {'l': [{'k': 'v'}]}, 'l.0.k' ;; {'a': []}, 'a.0', -1

def group_totals(rows):
    totals = {}
    for name, amount in rows:
        totals[name] = totals.get(name, 0) + amount
    return {name: total for name, total in totals.items() if total != 0}
#> [('a', 1), ('b', 2), ('a', 3)] ;; [] ;; [('a', 1), ('a', -1)] ;; [('x', 0)] ;; [('p', 5), ('q', -5), ('p', 1)] ;; [('k', 2), ('k', 2)]

def join_rows(left, right, key):
    index = {}
    for row in right:
        index.setdefault(row[key], []).append(row)
    out = []
    for row in left:
        for other in index.get(row[key], []):
            joined = dict(other)
            joined.update(row)
            out.append(joined)
    return out
#> [{'id': 1, 'a': 'x'}], [{'id': 1, 'b': 'y'}], 'id' ;; [{'id': 1}], [{'id': 2}], 'id' ;; [], [{'k': 1}], 'k' ;; [{'k': 1, 'v': 2}], [{'k': 1, 'v': 3, 'w': 4}], 'k' ;; [{'k': 1, 'n': 0}], [{'k': 1, 'm': 1}, {'k': 1, 'm': 2}], 'k'
#~ out.append(joined) ==> out = [joined]

def drop_empty(mapping):
    out = {}
    for key, value in mapping.items():
        if isinstance(value, dict):
            value = drop_empty(value)
        if value not in (None, '', [], {}):
            out[key] = value
    return out
#> {'a': None, 'b': 1} ;; {} ;; {'a': {'b': ''}} ;; {'z': 0, 'f': False} ;; {'a': [], 'c': {'d': 2, 'e': None}} ;; {'x': 'y', 'n': {}}

def stock_after(stock, orders):
    left = dict(stock)
    refused = []
    for item, amount in orders:
        if left.get(item, 0) >= amount:
            left[item] -= amount
        else:
            refused.append(item)
    return left, refused
#> {'a': 3}, [('a', 2)] ;; {'a': 1}, [('a', 2)] ;; {}, [('x', 1)] ;; {'a': 2, 'b': 1}, [('a', 2), ('b', 1), ('a', 1)] ;; {'k': 5}, [] ;; {'a': 4}, [('a', 3), ('a', 3), ('a', 1)]

def flatten_keys(tree, prefix=''):
    out = {}
    for key, value in tree.items():
        full = prefix + '/' + key if prefix else key
        if isinstance(value, dict) and value:
            out.update(flatten_keys(value, full))
        else:
            out[full] = value
    return out
#> {'a': {'b': 1}} ;; {} ;; {'a': 1, 'b': {'c': {'d': 2}}} ;; {'a': {}} ;; {'x': {'y': None}}, 'root' ;; {'k': 'v'}, 'p'

def best_scores(results):
    best = {}
    for name, score in results:
        if name not in best or score > best[name]:
            best[name] = score
    return best
#> [('a', 1), ('a', 3), ('a', 2)] ;; [] ;; [('x', -1)] ;; [('x', -3), ('x', -1)] ;; [('a', 5), ('b', 4), ('a', 5)] ;; [('q', 0), ('q', -2)]

def rename_keys(mapping, names):
    out = {}
    for key in mapping:
        out[names.get(key, key)] = mapping[key]
    return out
#> {'a': 1}, {'a': 'b'} ;; {}, {} ;; {'a': 1, 'c': 2}, {'a': 'x'} ;; {'k': 3}, {'z': 'y'} ;; {'p': 0, 'q': 1}, {'p': 'q', 'q': 'p'}

def vote_winner(ballots):
    counts = {}
    for ballot in ballots:
        for place, name in enumerate(ballot):
            points = max(0, 3 - place)
            counts[name] = counts.get(name, 0) + points
    if not counts:
        return None
    top = max(counts.values())
    return min(name for name, points in counts.items() if points == top)
#> [['a', 'b'], ['b', 'a'], ['a']] ;; [] ;; [['x', 'y', 'z', 'w']] ;; [['b'], ['a']] ;; [['c', 'a'], ['b', 'a'], ['d', 'a']] ;; [['a', 'b', 'c'], ['c', 'b', 'a'], ['c']]

def permissions(roles, grants, user):
    allowed = set()
    pending = list(roles.get(user, []))
    done = set()
    while pending:
        role = pending.pop()
        if role in done:
            continue
        done.add(role)
        for grant in grants.get(role, []):
            if grant.startswith('@'):
                pending.append(grant[1:])
            else:
                allowed.add(grant)
    return sorted(allowed)
#> {'ann': ['dev']}, {'dev': ['read', 'write']}, 'ann' ;; {}, {}, 'bob' ;; {'ann': ['lead']}, {'lead': ['@dev', 'merge'], 'dev': ['read']}, 'ann' ;; {'x': ['a']}, {'a': ['@b'], 'b': ['@a', 'p']}, 'x' ;; {'x': ['none']}, {}, 'x'

def symmetric_pairs(pairs):
    seen = {}
    found = []
    for a, b in pairs:
        if seen.get(b) == a:
            found.append((b, a))
        seen[a] = b
    return found
#> [(1, 2), (2, 1)] ;; [] ;; [(1, 2), (3, 4)] ;; [(1, 1)] ;; [(5, 6), (6, 7), (7, 6)] ;; [(1, 2), (2, 1), (3, 4), (4, 3)]

def bucketize(values, bounds):
    buckets = [0] * (len(bounds) + 1)
    for value in values:
        at = 0
        while at < len(bounds) and value >= bounds[at]:
            at += 1
        buckets[at] += 1
    return buckets
#> [1, 5, 10], [5] ;; [], [1, 2] ;; [0, 1, 2, 3], [1, 3] ;; [7, 7], [] ;; [2, 4, 6, 8], [4, 8] ;; [-1], [0]
