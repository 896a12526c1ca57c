import type { GenerateRequest } from '@agentfleet/protocol/inference';

const path = 'add.py';

/** A program with one wrong sign; the repair is among the first candidates of an engine that works. */
export const example: GenerateRequest = {
  requestId: 'example',
  role: 'Generalist',
  goal: 'Make the failing test pass.',
  step: 0,
  grammar: 'Edit',
  files: [{ path, content: 'def add(a, b):\n    return a - b\n' }],
  localisation: {
    spectrum: { passed: 0, failed: 1, lines: [{ path, line: 2, passed: 0, failed: 1 }] },
    failingTests: [{ id: 'test_add', message: 'AssertionError: assert add(1, 2) == 3' }],
  },
  k: 16,
  maxEdits: 1,
  exclude: [],
  seed: 0,
  budgetMillis: 10_000,
};
