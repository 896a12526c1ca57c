import { expect, vi } from 'vitest';
import { UselessAnswer } from '../../agent-image/src/models/models.ts';
import { AgentBed, runnerOfTests, ScriptedModels, steps } from './agentBed.ts';
import { nothing, taskFor } from './loopBed.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** What is charged where a model gives no reply: the tool loop on a real keeper and a real runner. */
const { binary, test } = await runnerOfTests();

const spec = taskFor({ 'calc.py': '' }, ['grep', 'right', 'calc.py']);
const play = steps(
  { calls: [['bash', { command: 'ls' }]] },
  { calls: [['edit_file', { path: 'calc.py', new_text: 'right' }]] },
  { calls: [['submit', { answer: 'Done.' }]] },
);

test('charges an answer of no use that ends the attempt, once', async () => {
  await using bed = await AgentBed.open(binary);
  const none = { input: 70, cachedInput: 0, output: 7, estimated: false };
  const models = new ScriptedModels((request, n) => {
    if (n !== 2) return play(request, n);
    request.onBilled?.(none);
    request.onBilled?.(none);
    throw new UselessAnswer('ProviderMalformed', 'no chat completion');
  });
  const first = bed.begin(spec, models);
  expect(await bed.engine.run(first.context)).toMatchObject({ class: 'Infrastructure', reason: 'ProviderMalformed' });
  expect(first.reported.usage).toMatchObject({ tokensIn: 1001 + 140, tokensOut: 50 + 14 });
  expect((await bed.transcript()).charges.map(({ usage }) => usage.input)).toEqual([1001, 140]);
  const earlier = first.reported.usage ?? nothing;
  const second = bed.begin(spec, new ScriptedModels(play), { used: { earlier, before: nothing } }, 2);
  expect(await bed.engine.run(second.context)).toMatchObject({ result: 'Succeeded' });
  expect(second.reported.usage).toMatchObject({ tokensIn: 2003, tokensOut: 100 });
});

test('charges answers of no use before a good one with it', async () => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels((request, n) => {
    if (n === 2) request.onBilled?.({ input: 70, cachedInput: 0, output: 7, estimated: false });
    return play(request, n);
  });
  const run = bed.begin(spec, models);
  expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
  expect(run.reported.usage).toMatchObject({ tokensIn: 3006 + 70, tokensOut: 150 + 7 });
});

test('charges a request that is under way when the task is stopped as it was reserved', async () => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels((request, n) => {
    if (n === 2) run.abort('Stop');
    return play(request, n);
  });
  const run = bed.begin(spec, models);
  await expect(bed.engine.run(run.context)).rejects.toBe('Stop');
  expect(run.reported.usage).toMatchObject({ tokensOut: 50 + 2048 });
});
