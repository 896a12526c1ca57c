def chunked(values, size):
    out = []
    for start in range(0, len(values), size):
        out.append(values[start:start + size])
    return out
#> [1, 2, 3, 4, 5], 2 ;; [], 3 ;; [1], 5 ;; [1, 2, 3, 4], 2 ;; [1, 2, 3], 1 ;; list(range(10)), 4

def second_largest(values):
    best = second = None
    for value in values:
        if best is None or value > best:
            second = best
            best = value
        elif value != best and (second is None or value > second):
            second = value
    return second
#> [1, 2, 3] ;; [5, 5, 4] ;; [7] ;; [] ;; [3, 1, 2] ;; [2, 2] ;; [-1, -5, -3] ;; [9, 8, 9, 7]

def rotate(values, by):
    if not values:
        return []
    by = by % len(values)
    return values[-by:] + values[:-by] if by else values[:]
#> [1, 2, 3, 4], 1 ;; [1, 2, 3], 0 ;; [], 3 ;; [1, 2, 3], 4 ;; [1, 2, 3, 4], -1 ;; ['a', 'b'], 2 ;; [1, 2, 3, 4, 5], 3

def merge_sorted(left, right):
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    return out + left[i:] + right[j:]
#> [1, 3, 5], [2, 4] ;; [], [1] ;; [1, 1], [1] ;; [5], [1, 2, 3] ;; [], [] ;; [1, 4, 9], [4, 4, 10]
#~ left[i:] + right[j:] ==> left[i:]

def binary_search(values, wanted):
    low, high = 0, len(values) - 1
    while low <= high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return middle
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1
#> [1, 3, 5, 7], 5 ;; [1, 3, 5, 7], 4 ;; [], 1 ;; [2], 2 ;; [2], 3 ;; [1, 2, 3, 4, 5, 6], 6 ;; [1, 2, 3, 4, 5, 6], 1 ;; [10, 20, 30], 25

def max_window_sum(values, size):
    if size <= 0 or size > len(values):
        return None
    total = sum(values[:size])
    best = total
    for at in range(size, len(values)):
        total += values[at] - values[at - size]
        best = max(best, total)
    return best
#> [1, 2, 3, 4], 2 ;; [4, -1, 2], 1 ;; [1], 2 ;; [5, 5, 5], 3 ;; [], 1 ;; [-3, -1, -2], 2 ;; [1, 9, -5, 8, 3], 3 ;; [2, 2], 0

def flatten(values, depth=10):
    out = []
    for value in values:
        if isinstance(value, list) and depth > 0:
            out.extend(flatten(value, depth - 1))
        else:
            out.append(value)
    return out
#> [1, [2, [3]]] ;; [] ;; [[1, [2]], 3], 1 ;; [[[4]]], 0 ;; ['a', ['b']] ;; [[], [[]], 5] ;; [[1], [2, [3, [4]]]], 2

def dedupe(values, key=None):
    seen = set()
    out = []
    for value in values:
        mark = value[key] if key is not None else value
        if mark not in seen:
            seen.add(mark)
            out.append(value)
    return out
#> [1, 2, 1, 3] ;; [] ;; ['b', 'a', 'b'] ;; [{'k': 1, 'v': 'x'}, {'k': 1, 'v': 'y'}], 'k' ;; [(1, 2), (3, 2)], 1 ;; [3, 3, 3] ;; [(1, 5), (1, 6)], 1
#~ seen.add(mark) ==> pass

def partition(values, pivot):
    low, equal, high = [], [], []
    for value in values:
        if value < pivot:
            low.append(value)
        elif value > pivot:
            high.append(value)
        else:
            equal.append(value)
    return low, equal, high
#> [3, 1, 2], 2 ;; [], 0 ;; [5, 5], 5 ;; [1, 9, 4, 7], 5 ;; [-1, 0, 1], 0 ;; [2, 3], 1

def longest_run(values):
    best = 0
    run = 0
    last = None
    for value in values:
        run = run + 1 if value == last else 1
        last = value
        best = max(best, run)
    return best
#> [1, 1, 2] ;; [] ;; [3] ;; [1, 2, 2, 2, 1, 1] ;; [0, 0, 0] ;; ['a', 'b', 'b'] ;; [1, 2, 3]

def zip_longest(left, right, fill=None):
    out = []
    for at in range(max(len(left), len(right))):
        a = left[at] if at < len(left) else fill
        b = right[at] if at < len(right) else fill
        out.append((a, b))
    return out
#> [1, 2], [3] ;; [], [] ;; [1], [2, 3], 0 ;; ['a'], ['b'] ;; [], [9], '-' ;; [1, 2, 3], [4, 5, 6]

def insertion_sort(values):
    out = list(values)
    for i in range(1, len(out)):
        current = out[i]
        j = i - 1
        while j >= 0 and out[j] > current:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = current
    return out
#> [3, 1, 2] ;; [] ;; [1] ;; [2, 1] ;; [5, 4, 3, 2, 1] ;; [1, 1, 0] ;; [-2, 7, -9, 7]
#~ j >= 0 ==> j > 0

def prefix_sums(values):
    sums = [0]
    for value in values:
        sums.append(sums[-1] + value)
    return sums
#> [1, 2, 3] ;; [] ;; [5] ;; [-1, 1] ;; [0, 0, 2] ;; [10, -4, 3]

def median(values):
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
#> [3, 1, 2] ;; [4, 1, 3, 2] ;; [] ;; [7] ;; [1, 2] ;; [5, 5, 1, 9] ;; [10, 0, 5, 20, 15]

def majority(values):
    count = 0
    candidate = None
    for value in values:
        if count == 0:
            candidate = value
        count += 1 if value == candidate else -1
    if values.count(candidate) * 2 > len(values):
        return candidate
    return None
#> [1, 1, 2] ;; [1, 2] ;; [] ;; [3, 3, 4, 3] ;; ['a'] ;; [1, 2, 3, 2, 2] ;; [5, 6, 5, 6]

def subarray_with_sum(values, wanted):
    start = 0
    total = 0
    for end, value in enumerate(values):
        total += value
        while total > wanted and start <= end:
            total -= values[start]
            start += 1
        if total == wanted and start <= end:
            return (start, end)
    return None
#> [1, 2, 3, 7, 5], 12 ;; [1, 2, 3], 6 ;; [1, 2, 3], 7 ;; [], 1 ;; [5], 5 ;; [4, 3, 2, 1], 3 ;; [2, 9, 2], 2

def interleave(lists):
    out = []
    longest = max((len(one) for one in lists), default=0)
    for at in range(longest):
        for one in lists:
            if at < len(one):
                out.append(one[at])
    return out
#> [[1, 2], [3, 4]] ;; [] ;; [[1], [2, 3], []] ;; [['a', 'b', 'c'], ['d']] ;; [[], []] ;; [[1, 2, 3]]

def top_n(values, n, key=None):
    ordered = sorted(values, key=key or (lambda value: value), reverse=True)
    return ordered[:n]
#> [3, 1, 2], 2 ;; [], 3 ;; [1, 2], 5 ;; ['aa', 'b', 'ccc'], 1, len ;; [5, 4], 0 ;; [-1, -7, 3], 2, abs ;; [9, 8, 7, 6], 3

def transpose(rows):
    if not rows:
        return []
    width = min(len(row) for row in rows)
    return [[row[at] for row in rows] for at in range(width)]
#> [[1, 2], [3, 4]] ;; [] ;; [[1, 2, 3]] ;; [[1], [2]] ;; [[1, 2], [3]] ;; [[1, 2, 3], [4, 5, 6]]

def peak_index(values):
    for at in range(1, len(values) - 1):
        if values[at - 1] < values[at] > values[at + 1]:
            return at
    return -1
#> [1, 3, 2] ;; [1, 2, 3] ;; [] ;; [3, 2, 1] ;; [0, 5, 5, 1] ;; [1, 2, 1, 4, 3] ;; [2, 1, 4, 0]

def remove_every(values, nth):
    return [value for at, value in enumerate(values, 1) if at % nth != 0]
#> [1, 2, 3, 4], 2 ;; [1, 2, 3], 1 ;; [], 3 ;; [1, 2, 3, 4, 5, 6], 3 ;; ['a', 'b', 'c'], 4 ;; [7, 8, 9, 10], 4

def pairs_with_sum(values, wanted):
    seen = set()
    pairs = []
    for value in values:
        other = wanted - value
        if other in seen:
            pairs.append((min(value, other), max(value, other)))
        seen.add(value)
    return sorted(set(pairs))
#> [1, 2, 3, 4], 5 ;; [2, 2], 4 ;; [], 1 ;; [1, 5], 5 ;; [3, -1, 4], 3 ;; [5, 1, 5, 1], 6 ;; [2], 4
#~ seen.add(value) ==> seen.add(other)
