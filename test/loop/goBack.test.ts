// Files that a person has put back while a model works, on a real keeper and a real runner.
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentBed, removeRunner, ScriptedModels, steps } from './agentBed.ts';
import { taskFor } from './loopBed.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const built = await AgentBed.build();
const files = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
};
const spec = taskFor(files, ['python3', '-m', 'unittest', '-v']);

describe.skipIf('why' in built)('a message with a snapshot', () => {
  const binary = 'binary' in built ? built.binary : '';
  let bed: AgentBed;
  beforeEach(async () => {
    bed = await AgentBed.open(binary);
  });
  afterEach(() => bed[Symbol.asyncDispose]());
  afterAll(() => removeRunner(binary));

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
