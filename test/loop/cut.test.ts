import { expect, vi } from 'vitest';
import { AgentBed, runnerOfTests, ScriptedModels } from './agentBed.ts';
import { taskFor } from './loopBed.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** A model whose reply ends at its bound of tokens, in the middle of a call: the tool loop on a real keeper and a real runner. */
const { binary, test } = await runnerOfTests();

const half = '{"path":"calc.py","new_text":"def add(a, b';
const calls = [
  ['bash', { command: 'echo first' }],
  ['edit_file', half],
] as const;

test('a model sees in which call its reply was cut off, and at what bound; the calls before it are run', async () => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels((_, n) => (n === 1 ? { calls, cut: true } : n === 2 ? { calls } : 'I give up.'));
  await bed.engine.run(bed.begin(taskFor({ 'calc.py': '' }, ['false']), models).context);
  const seen = (models.requests.at(-1)?.messages ?? []).flatMap(({ role, text }) => (role === 'Tool' ? [text] : []));
  const fault = `the arguments of edit_file are not JSON: they end in the middle, after ${half.length} characters`;
  expect(seen).toHaveLength(4);
  expect(seen[0]).toMatch(/^first\n/);
  expect(seen[1]).toMatch(/^Not run: your reply was cut off at 2048 tokens, in the middle of this call\. Think less .* smaller pieces/);
  expect(seen[1]).toContain(fault);
  // The same call of a reply that ended by itself.
  expect(seen[3]?.startsWith(fault)).toBe(true);
});

test('a command in which a reply was cut off is not run, though its server ended the arguments', async () => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels((_, n) => (n === 1 ? { calls: [['bash', { command: 'echo half' }]], cut: true } : 'I give up.'));
  await bed.engine.run(bed.begin(taskFor({ 'calc.py': '' }, ['false']), models).context);
  const seen = (models.requests.at(-1)?.messages ?? []).flatMap(({ role, text }) => (role === 'Tool' ? [text] : []));
  expect(seen).toEqual([expect.stringMatching(/^Not run: your reply was cut off at 2048 tokens.*\(its arguments may end too early\)$/)]);
  expect(await bed.ran('echo half')).toBe(0);
});
