import { expect, vi } from 'vitest';
import { AgentBed, runnerOfTests, ScriptedModels, type Script } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Habits of weak models in the tool loop, on a real keeper and a real runner. */
const { binary, test } = await runnerOfTests();

const edit = (old: string): readonly [string, object] => ['edit_file', { path: 'calc.py', old_text: old, new_text: 'a + b' }];
const mend = { calls: [edit('a - b')] } as const;
const call = (name: string, args: object): { readonly calls: readonly (readonly [string, object])[] } => ({ calls: [[name, args]] });

test.each<readonly [what: string, script: Script, outcome: object, requests: number]>([
  ['ends in words after its work', (_, n) => (n === 1 ? mend : 'I repaired it, the tests pass now.'), { result: 'Succeeded' }, 8],
  ['looks at checks that hold again and again', (_, n) => (n === 1 ? mend : call('run_checks', {})), { result: 'Succeeded' }, 9],
  ['ends in words without work', () => 'Which file do you mean?', { class: 'Stuck', reason: 'NoAct' }, 7],
  ['makes an edit again that it made', () => mend, { class: 'Stuck', reason: 'RepeatedError' }, 8],
  ['makes a wrong edit again', () => ({ calls: [edit('a-b')] }), { class: 'Stuck', reason: 'RepeatedError' }, 7],
  ['calls tools of another agent', (_, n) => call('str_replace_editor', { command: 'view', n }), { class: 'Stuck', reason: 'RepeatedError' }, 7],
])('a model that %s', async (_, script, outcome, requests) => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels((request, n) => (n > 12 ? Promise.reject(new Error('it never ends')) : script(request, n)));
  expect(await bed.engine.run(bed.begin(taskFor(wrongSign.files, wrongSign.command), models).context)).toMatchObject(outcome);
  expect(models.requests).toHaveLength(requests);
}); // prettier-ignore

test('a model that stands still because its server drops the beginning of prompts: the end says so', async () => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels(() => call('bash', { command: 'seq 4000' }));
  const outcome = await bed.engine.run(bed.begin(taskFor(wrongSign.files, wrongSign.command), models).context);
  expect(outcome).toMatchObject({ class: 'Stuck', reason: 'RepeatedCall' });
  expect(outcome.message).toMatch(
    /the server counted 10\d\d tokens of a prompt of about \d{4,5}, so it may drop the beginning: set contextTokens/,
  );
});
