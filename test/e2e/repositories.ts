// test, e2e: small Python repositories with bugs, as inline workspaces. May import any package.

/** Small Python repositories with bugs, as inline workspaces. Written for these tests. */
export interface Repository {
  readonly files: readonly { readonly path: string; readonly content: string; readonly mode?: number }[];
  /** A line of the right program that the repaired file has to hold. */
  readonly repaired?: RegExp;
}

const intervals = (merge: string): string => `"""Half-open intervals of whole numbers."""


def overlaps(first, second):
    return first[0] < second[1] and second[0] < first[1]


def merge(intervals):
    """Joins intervals that overlap or touch; the result is sorted."""
    merged = []
    for start, end in sorted(intervals):
        if merged and ${merge}:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(intervals):
    return sum(end - start for start, end in merge(intervals))
`;

const intervalTests = `import unittest

from intervals import length, merge, overlaps


class Merge(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(merge([]), [])

    def test_apart(self):
        self.assertEqual(merge([(5, 6), (1, 3)]), [(1, 3), (5, 6)])

    def test_overlapping(self):
        self.assertEqual(merge([(1, 4), (3, 6)]), [(1, 6)])

    def test_touching(self):
        self.assertEqual(merge([(1, 3), (3, 5)]), [(1, 5)])

    def test_inside(self):
        self.assertEqual(merge([(1, 9), (2, 3)]), [(1, 9)])


class Length(unittest.TestCase):
    def test_counts_once(self):
        self.assertEqual(length([(0, 4), (2, 6)]), 6)

    def test_touching(self):
        self.assertEqual(length([(0, 2), (2, 4)]), 4)


class Overlaps(unittest.TestCase):
    def test_half_open(self):
        self.assertFalse(overlaps((0, 2), (2, 4)))
        self.assertTrue(overlaps((0, 3), (2, 4)))


if __name__ == '__main__':
    unittest.main()
`;

/** One comparison is wrong: touching intervals are not joined. */
export const oneBug: Repository = {
  files: [
    { path: 'intervals.py', content: intervals('start < merged[-1][1]') },
    { path: 'tests/__init__.py', content: '' },
    { path: 'tests/test_intervals.py', content: intervalTests },
  ],
  repaired: /start <= merged\[-1\]\[1\]/,
};

/** Two tests contradict each other: no program passes both. */
export const contradiction: Repository = {
  files: [
    { path: 'rounding.py', content: 'def half(n):\n    """Half of n, rounded."""\n    return n // 2\n' },
    {
      path: 'tests/test_rounding.py',
      content: `import unittest

from rounding import half


class Half(unittest.TestCase):
    def test_even(self):
        self.assertEqual(half(4), 2)

    def test_down(self):
        self.assertEqual(half(7), 3)

    def test_up(self):
        self.assertEqual(half(7), 4)


if __name__ == '__main__':
    unittest.main()
`,
    },
    { path: 'tests/__init__.py', content: '' },
    { path: 'run.sh', content: '#!/bin/sh\nexec python3 -m unittest -v\n', mode: 0o755 },
  ],
};

/** Without a bug. */
export const noBug: Repository = {
  files: [
    { path: 'intervals.py', content: intervals('start <= merged[-1][1]') },
    { path: 'tests/__init__.py', content: '' },
    { path: 'tests/test_intervals.py', content: intervalTests },
  ],
};

/** Two modules, a bug in each: no single edit makes all tests pass. */
export const twoBugs: Repository = {
  files: [
    { path: 'intervals.py', content: intervals('start < merged[-1][1]') },
    {
      path: 'ranks.py',
      content:
        'def rank(score, scores):\n    """Place of a score, the best is 1."""\n    return sum(1 for other in scores if other < score) + 1\n',
    },
    { path: 'tests/__init__.py', content: '' },
    { path: 'tests/test_intervals.py', content: intervalTests },
    {
      path: 'tests/test_ranks.py',
      content: `import unittest

from ranks import rank


class Rank(unittest.TestCase):
    def test_best(self):
        self.assertEqual(rank(9, [3, 9, 5]), 1)

    def test_last(self):
        self.assertEqual(rank(3, [3, 9, 5]), 3)

    def test_equal(self):
        self.assertEqual(rank(5, [5, 5]), 1)
`,
    },
  ],
};

export const unittest = ['python3', '-m', 'unittest', '-v'] as const;

/** The same tests, slow enough for a kill meanwhile. */
export const slowUnittest = ['sh', '-c', 'sleep 2; exec python3 -m unittest -v'] as const;
