import { expect, vi } from 'vitest';
import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { AgentBed, eachBed, runnerOfTests, ScriptedModels, type Reply } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Refusals as a model sees them, on a real keeper and a real runner. */
const { binary, describe, test } = await runnerOfTests();
const spec = taskFor(wrongSign.files, wrongSign.command);
const refuses = { why: 'Policy: unsafe', unsafe: 1, risk: null, energy: null, pSuccess: null };

describe('a refusal', () => {
  let bed: AgentBed;
  eachBed(async () => (bed = await AgentBed.open(binary)));

  const said = (messages: readonly ConversationMessage[]): readonly string[] => messages.map(({ role, text }) => `${role}: ${text}`);

  const submit: Reply = { calls: [['submit', { answer: 'The sign was wrong.' }]] };
  const mended: Reply = { calls: [['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }]] };
  test.each<readonly [string, readonly [first: Reply, last: Reply], reason: string, seen: RegExp | null]>([
    ['submit is done', [mended, submit], 'ChecksHold', null],
    ['a submit that the checks refuse ends it', [{ calls: [['bash', { command: 'cat calc.py' }]] }, submit], 'RefusedRepeatedly', null],
    ['anything else is not run', [mended, { calls: [['bash', { command: 'echo late > late.txt' }], ...submit.calls] }], 'RefusedRepeatedly', /^Not run: in the last turn/],
  ])('that is the last of a rule leaves one more turn, in which %s', async (_, [first, last], reason, seen) => {
    const models = new ScriptedModels((_request, n) => {
      if (n === 1) return first;
      return n < 8 ? { calls: [['edit_file', { path: 'test_calc.py', old_text: '5', new_text: `-${n}` }]] } : last;
    });
    const outcome = await bed.engine.run(bed.begin(spec, models).context);
    expect(outcome, outcome.message).toMatchObject({ reason });
    expect(models.requests).toHaveLength(8);
    const messages = said(models.requests.at(-1)?.messages ?? []);
    expect(messages.at(-4)).toMatch(/^User: .* has refused 5 of your recent calls/);
    expect(messages.at(-1)).toMatch(/^User: .* has refused 6 of your recent calls\. This is your last turn, and only submit is run in it/);
    const texts = (await bed.notes()).filter(({ kind }) => kind === 'CallObserved').map(({ data }) => String(data['text']));
    if (seen !== null) expect(texts.at(-2)).toMatch(seen);
    expect(await bed.ran('late.txt')).toBe(0);
  }); // prettier-ignore

  test.each([
    [
      'cd . && frob a; seq 3 4',
      'Of the 3 commands these are refused by themselves too: `frob a`. Do without them, and make each of the others a call of its own.',
    ],
    ['frob a', ''],
    [
      'quux a && quux b | cat',
      'Each of the 3 commands would pass by itself; what is refused is that they are one line. Make each a call of its own.',
    ],
  ])('of %j, which gate 2 refuses, says which commands it means', async (command, words) => {
    const models = new ScriptedModels((_, n) => (n === 1 ? { calls: [['bash', { command }]] } : 'I give up.'));
    const plain = bed.begin(spec, models).context.decisionModels;
    const secondOpinion: typeof plain.secondOpinion = ({ subject }) =>
      Promise.resolve({ ...refuses, allowed: !subject.includes('frob') && !subject.startsWith('quux a &&') });
    await bed.engine.run(bed.begin(spec, models, { decisionModels: { ...plain, secondOpinion } }).context);
    const answer = said(models.requests[1]?.messages ?? []).find((line) => line.startsWith('Tool: '));
    expect(answer).toMatch(/^Tool: refused, nothing was done: gate 2: Policy: unsafe/);
    expect(answer?.split('where the goal needs this act.')[1]?.trim()).toBe(words);
  });
});
