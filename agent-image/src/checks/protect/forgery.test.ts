import { expect, test } from 'vitest';
import { forgery } from './index.ts';

test.each([
  ['a.py', 'import os\nos._exit(0)'],
  ['a.py', 'from os import _exit as leave\nleave(0)'],
  ['a.py', 'import sys\nsys.exit(0)'],
  ['a.py', 'raise SystemExit'],
  ['a.py', 'import unittest\nunittest.TestCase.assertEqual = lambda *a: None'],
  ['a.py', 'import sys\nsys.modules["x"].y = 1'],
  ['a.py', 'import atexit\natexit.register(print)'],
  ['a.py', 'class Any:\n    def __eq__(self, other):\n        return True'],
  ['a.py', 'import sys\nsys.stderr.write("Ran 4 tests in 0.1s\\n\\nOK\\n")'],
  ['a.py', 'import subprocess'],
  ['a.py', 'os.__getattribute__("_ex" + "it")(0)'],
  ['a.py', 'print("O" + "K", file=sys.stderr)'],
  ['a.py', 'setattr(thing, name, 1)'],
  ['a.py', 'open("tests/a.py", "w")'],
  ['a.js', "import assert from 'node:assert';\nassert.equal = () => {};"],
  ['a.ts', 'process.exit(0)'],
  ['a.ts', 'process.exitCode = 0'],
  ['a.go', 'func init() { os.Exit(0) }'],
])('%s must not gain %j', (path, text) => {
  expect(forgery(path, 'x\n', `x\n${text}\n`)).toMatch(new RegExp(`^${path}: it `));
});

test.each([
  ['a.py', 'pattern = re.compile("x")\nsys.exit(2)\nprint("ok")'],
  ['a.py', 'value = getattr(self, "name", None)\nraise ValueError(f"{x} exits")'],
  ['a.py', 'def __eq__(self, other):\n    return self.x == other.x'],
  ['a.ts', "import { readFile } from 'node:fs/promises';\nprocess.exit(1);"],
  ['a.go', 'import "os"\nfunc main() { os.Exit(1) }'],
  ['a.md', 'run unittest'],
])('%s may gain %j', (path, text) => {
  expect(forgery(path, '', text)).toBeNull();
});

test('what was there before is not the edit\u2019s', () => {
  expect(forgery('a.py', 'import unittest\n', 'import unittest\nx = 1\n')).toBeNull();
});
