// Files that a person has put back while a model works, on a real keeper and a real runner.
import { expect, test, vi } from 'vitest';
import { AgentBed, eachBed, runnerOfTests, ScriptedModels, steps } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const { binary, describe } = await runnerOfTests();
const spec = taskFor(wrongSign.files, wrongSign.command);

describe('a message with a snapshot', () => {
  let bed: AgentBed;
  eachBed(async () => (bed = await AgentBed.open(binary)));

  test('puts files back to a snapshot for a person, and the model goes on from there', async () => {
    const edit = (old_text: string, new_text: string): readonly [string, object] => ['edit_file', { path: 'calc.py', old_text, new_text }];
    const replies = steps(
      { calls: [edit('a - b', 'a * b')] },
      { calls: [edit('a * b', 'a ** b')] },
      { calls: [['bash', { command: 'cat calc.py' }], edit('a * b', 'a + b'), ['run_checks', {}]] },
      { calls: [['submit', { answer: 'The sign was wrong.' }]] },
    );
    const waiting: { id: string; text: string; by: string; snapshot: string }[] = [];
    const models = new ScriptedModels(async (request, n) => {
      if (n === 2) {
        const [first] = (await bed.notes()).filter(({ kind, data }) => kind === 'CallObserved' && data['tree'] !== undefined);
        const { id = '' } = (first?.data['tree'] ?? {}) as { readonly id?: string };
        waiting.push({ id: 'order-1', text: 'The first was nearer.', by: 'ann', snapshot: id });
        waiting.push({ id: 'order-2', text: 'And be quick.', by: 'ann', snapshot: 's9999' });
      }
      return replies(request, n);
    });
    const messageTaken = (id: string): void => void waiting.splice(0, waiting.length, ...waiting.filter((one) => one.id !== id));
    const run = bed.begin(spec, models, { messages: () => [...waiting], messageTaken });
    const outcome = await bed.engine.run(run.context);
    expect(outcome, outcome.message).toMatchObject({ result: 'Succeeded' });
    expect(waiting).toEqual([]);
    const seen = models.requests.at(-1)?.messages.map(({ role, text }) => `${role}: ${text}`) ?? [];
    const at = seen.findIndex((line) => line.startsWith('User: ann: The first was nearer.'));
    expect(seen[at]).toBe(
      'User: ann: The first was nearer.\n[the files are as in step 1, after edit_file {"path":"calc.py","old_text":"a - b","new_text":"a * b"}, again; discarded 1 change: calc.py (changed); what commands did outside of the files stays]',
    );
    expect(seen[at + 1]).toBe(
      'User: ann: And be quick.\n[no files were put back: snapshot s9999 is not one that this conversation can go back to]',
    );
    expect(seen[at + 3]).toContain('return a * b');
    expect(run.reported.patch).toMatch(/^\+    return a \+ b$/m);
    // A worker that takes over begins on the same tree.
    expect((await bed.transcript()).trees.map(({ step }) => step)).toEqual([0, 1, 3]);
  });
});
