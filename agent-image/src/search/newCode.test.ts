import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseResults } from '../checks/index.ts';
import type { Ran } from '../attempt/checkRun.ts';
import { failingTests, type Focus } from './localise.ts';
import { missingNames, newCodeNeeded } from './proposals.ts';

const source = 'def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b  # power: later\n\n\nclass Box:\n    pass\n';
const focus = (messages: readonly string[], content = source): Focus => ({
  domain: 'python',
  files: [{ path: 'calc.py', content }],
  localisation: {
    spectrum: { lines: [], passed: 0, failed: 1 },
    failingTests: messages.map((message, at) => ({ id: `t${at}`, message })),
  },
  suspicion: () => null,
});

test.each<readonly [what: string, messages: readonly string[], names: readonly string[]]>([
  ['a function of a module', ["AttributeError: module 'calc' has no attribute 'multiply'"], ['multiply']],
  ['an import', ["ImportError: cannot import name 'multiply' from 'calc' (/workspace/calc.py)"], ['multiply']],
  ['an export', ["SyntaxError: The requested module './a.mjs' does not provide an export named 'multiply'"], ['multiply']],
  ['a method', ['TypeError: calc.multiply is not a function'], ['multiply']],
  ['a method of a class', ["AttributeError: 'Box' object has no attribute 'multiply'"], ['multiply']],
  ['a method of another class, as of a wrong value', ["AttributeError: 'NoneType' object has no attribute 'multiply'"], []],
  ['a type', ["use.ts(1,10): error TS2305: Module '\"./calc.ts\"' has no exported member 'multiply'."], ['multiply']],
  ['a short name that is near to a keyword', ["NameError: name 'pas' is not defined"], ['pas']],
  ['a name that a comment mentions', ["NameError: name 'power' is not defined"], ['power']],
  ['two names', ["NameError: name 'halve' is not defined", 'ReferenceError: multiply is not defined'], ['halve', 'multiply']],
  ['a name that is misspelled where it is defined', ["AttributeError: module 'calc' has no attribute 'substract'"], []],
  ['a name that stands in a file', ["NameError: name 'add' is not defined"], []],
  ['one of two tests', ["AttributeError: module 'calc' has no attribute 'multiply'", 'AssertionError: 1 != 2'], []],
  ['a wrong value', ['AssertionError: 5 != 6'], []],
])('%s', (_, messages, names) => {
  expect(missingNames(focus(messages))).toEqual(names);
});

test('errors are read from the output where the format of the runner names none', () => {
  const error = "AttributeError: module 'calc' has no attribute 'multiply'\n";
  const printed = (trace: string): Focus => {
    const { localisation, ...rest } = focus(['']);
    return { ...rest, localisation: { ...localisation, failingTests: [{ id: 'a', message: '', trace }] } };
  };
  expect(missingNames(printed(`Traceback (most recent call last):\n${error}`))).toEqual(['multiply']);
  expect(missingNames(printed(`${error}AssertionError: 1 != 2\n`))).toEqual([]);
  expect(missingNames(printed('FAILED (errors=1)\n'))).toEqual([]);
});

test('a report of blanks is read in one pass', () => {
  expect(missingNames(focus([`E ${' '.repeat(5000)}\n${'E '.repeat(5000)}`]))).toEqual([]);
});

test('only experts that edit expressions are excused', () => {
  const needs = focus(["AttributeError: module 'calc' has no attribute 'multiply'"]);
  const synth = { role: 'Generalist', engine: 'Synth' } as const;
  expect(newCodeNeeded(needs, [synth, { role: 'Verifier', engine: 'TinyEBM' } as never])).toContain('asks for multiply');
  expect(newCodeNeeded(needs, [synth, { role: 'Specialist', engine: 'Replay' } as never])).toBeNull();
});

describe('output of real runners', () => {
  let root = '';
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'agentfleet-new-code-'));
    symlinkSync(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(root, 'node_modules'));
    const python =
      'import unittest\n\nfrom calc import double\n\n\nclass T(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(4), 8)\n';
    const script = (head: string): string => `${head}\ntest('doubles', () => { if (double(4) !== 8) throw new Error('not 8'); });\n`;
    const files = {
      'test_calc.py': python,
      'test_late.py': python.replace('from calc import double', 'import calc').replace('double(4)', 'calc.double(4)'),
      'a.test.mjs': script("import test from 'node:test';\nimport { double } from './calc.mjs';"),
      'b.test.cjs': script("const test = require('node:test');\nconst { double } = require('./calc.cjs');"),
      'c.test.ts': script("import { test } from 'vitest';\nimport { double } from './calc.ts';"),
      'd.ts': "import { double } from './calc.ts';\nimport * as all from './calc.ts';\ndouble(all.double(4));\n",
    };
    for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const sources = (name: string): Readonly<Record<string, string>> => ({
    'calc.py': `def ${name}(n):\n    return n / 2\n`,
    'calc.mjs': `export function ${name}(n) {\n  return n / 2;\n}\n`,
    'calc.cjs': `exports.${name} = (n) => n / 2;\n`,
    'calc.ts': `export function ${name}(n: number): number {\n  return n / 2;\n}\n`,
  });
  const node = process.execPath;
  const options = ['--noEmit', '--strict', '--allowImportingTsExtensions', '--module', 'nodenext', '--ignoreConfig'];
  test.each<readonly [source: string, program: string, ...args: string[]]>([
    ['calc.py', 'python3', '-m', 'unittest', '-v', 'test_calc'],
    ['calc.py', 'python3', '-m', 'unittest'],
    ['calc.py', 'python3', '-m', 'unittest', 'test_late'],
    ['calc.py', 'python3', '-m', 'pytest', '-q', 'test_calc.py'],
    ['calc.py', 'python3', '-m', 'pytest', '-v', 'test_late.py', 'test_calc.py', '--continue-on-collection-errors'],
    ['calc.py', 'python3', 'test_calc.py'],
    ['calc.py', 'python3', '-c', 'import calc; assert calc.double(4) == 8'],
    ['calc.mjs', node, '--test', 'a.test.mjs'],
    ['calc.mjs', node, '--test', '--test-reporter=tap', 'a.test.mjs'],
    ['calc.mjs', node, 'a.test.mjs'],
    ['calc.cjs', node, '--test', 'b.test.cjs'],
    ['calc.cjs', node, '--test', '--test-reporter=tap', 'b.test.cjs'],
    ['calc.ts', node, 'node_modules/vitest/vitest.mjs', 'run', 'c.test.ts'],
    ['calc.ts', node, 'node_modules/typescript/bin/tsc', ...options, 'd.ts'],
  ])('%s: %s %s %s %s', async (source, program, ...args) => {
    const env = { PYTHONDONTWRITEBYTECODE: '1', NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined, VITEST: undefined };
    const missed: Record<string, readonly string[]> = {};
    for (const name of ['half', 'dubble', 'double']) {
      const content = sources(name)[source] ?? '';
      writeFileSync(join(root, source), content);
      const end = await execa(program, args, { cwd: root, env, reject: false, stripFinalNewline: false });
      const { exitCode = null, stdout, stderr } = end;
      if (end.code === 'ENOENT' || stderr.includes('No module named pytest')) return;
      const results = parseResults('Auto', { exitCode, stdout, stderr, files: [] });
      const tests = failingTests([{ check: 'unit', results, output: `${stdout}\n${stderr}` } as unknown as Ran]);
      const { localisation, ...rest } = focus([], content);
      missed[name] = missingNames({ ...rest, files: [{ path: source, content }], localisation: { ...localisation, failingTests: tests } });
    }
    expect(missed).toEqual({ half: ['double'], dubble: [], double: [] });
  });
});
