import { expect, test } from 'vitest';
import type { Focus } from './localise.ts';
import { missingNames, newCodeNeeded } from './newCode.ts';

const source = 'def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n';
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

test('only experts that edit expressions are excused', () => {
  const needs = focus(["AttributeError: module 'calc' has no attribute 'multiply'"]);
  const synth = { role: 'Generalist', engine: 'Synth' } as const;
  expect(newCodeNeeded(needs, [synth, { role: 'Verifier', engine: 'TinyEBM' } as never])).toContain('asks for multiply');
  expect(newCodeNeeded(needs, [synth, { role: 'Specialist', engine: 'Replay' } as never])).toBeNull();
});
