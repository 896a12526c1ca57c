import { expect, test } from 'vitest';
import { selectTests } from './select.ts';
import type { ResultFormat } from './parse/results.ts';

test.each<readonly [what: string, command: string, format: ResultFormat, ids: readonly string[], selected: string | null]>([
  ['unittest', 'python3 -m unittest', 'Unittest', ['test_a.T.test_x'], 'python3 -m unittest -v test_a.T.test_x'],
  ['its modules', 'python3 -B -m unittest -q -b test_a', 'Unittest', ['test_a.T.test_x'], 'python3 -B -m unittest -b -v test_a.T.test_x'],
  ['its folders', 'python3 -m unittest discover -s tests', 'Unittest', ['test_a.T.test_x'], null],
  ['its options', 'python3 -m unittest -k half', 'Unittest', ['test_a.T.test_x'], null],
  ['a module that does not load', 'python3 -m unittest', 'Unittest', ['test_a'], null],
  ['pytest', 'python3 -m pytest -q tests', 'Pytest', ['tests/test_a.py::test_x'], 'python3 -m pytest -q tests/test_a.py::test_x'],
  ['its options', 'pytest -x', 'Pytest', ['test_a.py::test_x'], null],
  ['a file that does not load', 'pytest', 'Pytest', ['test_a.py'], null],
  ['node', 'node --test a.test.mjs', 'NodeTest', ['s', 's > b.c'], 'node --test --test-name-pattern=^s b\\.c$ a.test.mjs'],
  ['its patterns', 'node --test --test-name-pattern=b', 'NodeTest', ['b'], null],
  ['another runner', 'go test ./...', 'GoTest', ['TestX'], null],
])('%s: %s', (_, command, format, ids, selected) => {
  expect(selectTests(command.split(' '), format, ids)?.join(' ') ?? null).toBe(selected);
});
