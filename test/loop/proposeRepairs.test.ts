import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { collectCoverage } from '@agentfleet/agent/coverage';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { builtRunner, ToolBed } from '../../agent-image/src/tools/testing/bed.ts';
import { LoopBed } from './loopBed.ts';

const built = await builtRunner();
const binary = 'binary' in built ? built.binary : '';
if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);
afterAll(() => (binary === '' ? undefined : rm(dirname(binary), { recursive: true, force: true })));

const files = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n        self.assertEqual(add(2, 0), 2)\n',
};

it.skipIf(binary === '')('propose_repairs lists likely edits as diffs, and tries none', async () => {
  await using loop = await LoopBed.open();
  const url = await loop.serve({ AGENTFLEET_ENGINE: 'Synth' });
  const experts = [{ name: 'search', role: 'Generalist', engine: 'Synth', domains: ['*'], url }] as PoolBrief['experts'];
  const client = new ExpertsClient({ clock: systemClock, random: () => 0.5, log: silentLog });
  const checks = [{ name: 'unit', command: ['python3', '-m', 'unittest'] }] as never;
  await using bed = await ToolBed.open(binary, {
    files,
    spec: { checks },
    pool: { experts },
    context: { experts: client.of(experts) },
    engine: { collectCoverage },
  });
  const proposed = await bed.call('propose_repairs', {});
  expect(proposed.text).toMatch(/^1\. .* \(share 0\.\d\d\)\n--- calc\.py\n\+\+\+ calc\.py\n@@/);
  expect(proposed.text).toContain('-    return a - b\n+    return a + b');
  expect(proposed.text).toMatch(/\[\d of \d+ edits, the likeliest first; none was tried\]$/);
  expect(await bed.read('calc.py')).toBe(files['calc.py']);
  await bed.call('edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' });
  expect((await bed.call('propose_repairs', {})).text).toBe('[every check holds; there is nothing to repair]');
});
