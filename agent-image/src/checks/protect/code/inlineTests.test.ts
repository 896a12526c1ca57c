import { expect, test } from 'vitest';
import { judgeChanges } from '../judge.ts';
import { protectedPaths } from '../protected.ts';
import { changedTest } from './inlineTests.ts';

const python = (examples: string, code = 'a - b'): string =>
  `def add(a, b):\n    """Adds.\n\n${examples}    """\n    return ${code}\n\n\nclass Cart:\n    def sum(self):\n        """\n        >>> Cart().sum()\n        0\n        """\n`;
const one = '    >>> add(1, 2)\n    3\n';
const zig = (asked: string, code = 'a - b'): string =>
  `fn add(a: i32, b: i32) i32 {\n    return ${code};\n}\n\ntest "adds" {\n    try expect(add(1, 2) == ${asked});\n}\n\ntest add {\n    try expect(true);\n}\n`;

test.each([
  ['a.py', python(one), python(one, 'a + b'), null],
  ['a.py', python(one), python(one.replace('3', '-1')), 'add'],
  ['a.py', python(one), python(one.replace('(1, 2)', '(1, 2)  # doctest: +SKIP')), 'add'],
  ['a.py', python(one), python(''), 'add'],
  ['a.py', python(one), python(one).replace('        0\n', '        1\n'), 'sum'],
  ['a.py', python(one), python(`${one}\n    >>> add(0, 0)\n    0\n`), null],
  ['a.py', python(one), `import os\n\n\n${python(one).replaceAll('\n', '\r\n')}`, null],
  ['a.py', python(one), python(one.replaceAll('    ', '      ')), null],
  ['a.zig', zig('3'), zig('3', 'a + b'), null],
  ['a.zig', zig('3'), zig('-1'), 'adds'],
  ['a.zig', zig('3'), zig('3').replace(/test "adds"[^]*?\n\}\n/, ''), 'adds'],
  ['a.zig', zig('3'), `${zig('3')}\ntest "more" {\n}\n`, null],
])('of %s, a change of its tests is named: %#', (path, before, after, name) => {
  expect(changedTest(path, before, after)).toBe(name);
});

test.each([
  [['python3', '-m', 'doctest', 'a.py'], '', 1],
  [['pytest', '--doctest-modules'], '', 1],
  [['pytest'], '[tool.pytest.ini_options]\naddopts = "--doctest-modules"\n', 1],
  [['pytest'], '', 0],
])('examples of Python are protected where %j runs them', (command, pyproject, violations) => {
  const change = { path: 'a.py', op: 'Modify', before: python(one), after: python('') } as const;
  const read = (path: string): string | undefined => (path === 'pyproject.toml' ? pyproject : undefined);
  const set = (except: readonly string[]) =>
    protectedPaths(['a.py'], [{ name: 'c', command }], { mode: 'Default', except: [...except] }, read);
  expect(judgeChanges([change], set([])).violations).toHaveLength(violations);
  expect(judgeChanges([change], set(['a.py'])).violations).toEqual([]);
});

test.each([
  ['README.txt', ['python3', '-m', 'doctest', 'README.txt'], 1],
  ['docs/use.rst', ['pytest', '--doctest-glob=*.rst'], 1],
  ['docs/use.md', ['python3', '-m', 'doctest', 'docs/use.md'], 1],
  // Those pytest collects unasked.
  ['docs/test_use.txt', ['pytest'], 1],
  ['docs/use.txt', ['pytest'], 0],
])('examples in %s are protected where %j runs them', (path, command, violations) => {
  const set = protectedPaths([path], [{ name: 'c', command }], { mode: 'Default' });
  const judged = (before: string, after: string) => judgeChanges([{ path, op: 'Modify', before, after }], set).violations;
  expect(judged(`Adds.\n\n${one}`, 'Adds.\n')).toHaveLength(violations);
  expect(judged(`Adds.\n\n${one}`, `Adds two numbers.\n\n${one}`)).toEqual([]);
});

test('tests in a file of code that its author frees may change', () => {
  const change = {
    path: 'src/lib.rs',
    op: 'Modify',
    before: '#[test]\nfn a() { assert!(f()); }\n',
    after: '#[test]\nfn a() {}\n',
  } as const;
  const of = (except: string[]) =>
    judgeChanges([change], protectedPaths(['src/lib.rs'], [], { mode: 'Default', except })).violations.length;
  expect([of([]), of(['src/lib.rs'])]).toEqual([1, 0]);
});

test.each(['>>> a\n', 'def a\n', 'test "a" {\n', 'test "', "'''\n>>> ", 'test {'])('many of %j are read in linear time', (piece) => {
  for (const path of ['a.py', 'a.zig']) expect(changedTest(path, piece.repeat(100_000), '') ?? '').toBeTypeOf('string');
});
