import { describe, expect, it } from 'vitest';
import {
  assess,
  isLastTurn,
  maxCalls,
  notRun,
  resultDigest,
  bounds,
  type Assessment,
  type CallTrace,
  type StepTrace,
} from './discipline.ts';

const call = (name: string, change: Partial<CallTrace> = {}): CallTrace => ({
  name,
  arguments: `{"command":"${name}"}`,
  outcome: 'Done',
  digest: 'same',
  ...change,
});
const step = (...calls: CallTrace[]): StepTrace => ({ calls, at: 0 });
const times = (count: number, ...steps: StepTrace[]): StepTrace[] => Array.from({ length: count }, () => steps).flat();
const fresh = (count: number): StepTrace[] => Array.from({ length: count }, (_, n) => step(call(`look${n}`, { digest: `d${n}` })));

/** What was said after each step, in order. */
const judgements = (steps: readonly StepTrace[]): Assessment[] => steps.map((_, n) => assess(steps.slice(0, n + 1), 0));
const kinds = (steps: readonly StepTrace[]): string =>
  judgements(steps)
    .map((one) => (one.kind === 'Continue' ? '.' : one.kind === 'End' ? 'E' : one.kind === 'Nudge' ? 'n' : 'r'))
    .join('');

const failed = step(call('make', { outcome: 'Failed', digest: 'e' }));
const a = step(call('a'));
const b = step(call('b'));
const silent = step();
const cut: StepTrace = { calls: [], at: 0, cut: { by: 'Length', tokens: 8192 } };
const looped: StepTrace = { calls: [], at: 0, cut: { by: 'Length', tokens: 8192, repeats: true } };
const filtered: StepTrace = { calls: [], at: 0, cut: { by: 'Filter' } };
const refused = (rule: string): StepTrace => step(call('rm', { outcome: 'Refused', rule, digest: rule }));

describe('repetitions', () => {
  it.for<[string, StepTrace[], string]>([
    ['new calls', fresh(60), '.'.repeat(60)],
    ['an identical call and result', times(8, a), '...n.r.E'],
    ['a call that fails in the same way', times(7, failed), '..n.r.E'],
    ['a call that fails in other words', times(3, failed).map((_, n) => step(call('make', { outcome: 'Failed', digest: `e${n}` }))), '..n'],
    ['replies without a call', times(7, silent), '..n.r.E'],
    ['replies that were cut off before a call', times(7, cut), '..n.r.E'],
    ['replies that a filter ended', times(7, filtered), '..n.r.E'],
    ['to and fro', times(7, a, b), '.....n...r...E'],
    ['the same call with another result', fresh(8).map((_, n) => step(call('tail', { digest: `d${n}` }))), '........'],
    ['the same result of other calls', fresh(8).map((_, n) => step(call(`t${n}`))), '........'],
    ['three in a row, again and again', times(3, a, a, a, b), '.'.repeat(12)],
    ['a repetition long after one that ended', [...times(4, a), ...fresh(14), ...times(4, b)], `...n${'.'.repeat(14)}...n`],
    ['a repetition soon after another', [...times(4, a), ...fresh(3), ...times(3, failed)], `...n${'.'.repeat(3)}.r.`],
    ['several calls in one reply, repeated', times(4, step(call('a'), call('b'))), '...n'],
    [
      'arguments written in another order',
      [
        step(call('x', { arguments: '{"a":1,"b":[{"c":1,"d":2}]}' })),
        step(call('x', { arguments: '{"b": [{"d":2,"c":1}], "a": 1}' })),
        step(call('x', { arguments: '{"a":1,"b":[{"c":1,"d":2}]}' })),
        step(call('x', { arguments: ' {"a":1,"b":[{"c":1,"d":2}]}' })),
      ],
      '...n',
    ],
    ['another pattern after two notices by its own bound', [...times(5, silent), ...fresh(1), ...times(3, a)], '..n.r....'],
    ['another pattern after two notices that goes on', [...times(5, silent), ...fresh(1), ...times(4, a)], '..n.r....E'],
    ['broken arguments', times(4, step(call('x', { arguments: '{"a":', outcome: 'Failed' }))), '..n.'],
  ])('judges %s', ([, steps, expected]) => {
    expect(kinds(steps)).toBe(expected);
  });

  it('names what repeats, and ends as Stuck with the reason', () => {
    const said = judgements(times(8, a));
    expect(said[3]).toMatchObject({ kind: 'Nudge' });
    expect(said[3]?.text).toContain('4 times in a row (a {"command":"a"})');
    expect(said[5]?.text).toContain('two other ways');
    expect(said[7]).toMatchObject({ kind: 'End', class: 'Stuck', reason: 'RepeatedCall' });
    expect(judgements(times(7, failed)).at(-1)).toMatchObject({ reason: 'RepeatedError' });
    expect(judgements(times(7, silent)).at(-1)).toMatchObject({ reason: 'NoAct' });
    expect(judgements(times(7, a, b)).at(-1)).toMatchObject({ reason: 'Alternation' });
  });

  it('asks for a call after each reply without one', () => {
    expect(assess([silent], 0)).toMatchObject({ kind: 'Continue', text: expect.stringContaining('no tool call') as string });
    expect(assess([a], 0)).toEqual({ kind: 'Continue', text: null });
  });

  it.for<[string, StepTrace[], (RegExp | null)[]]>([
    [
      'cut off at its bound',
      times(7, cut),
      [
        /^Your reply was cut off at 8192 tokens, before a tool call, so that nothing was done\. Think less .* smaller step/,
        null,
        /^Notice: 3 replies in a row were cut off at 8192 tokens, before a tool call\. .*Think less/,
        /^Your reply was cut off at 8192 tokens/,
        /^Notice: still no progress: 5 replies in a row were cut off at 8192 tokens, before a tool call\. .*Think less/,
        null,
        /^7 replies in a row were cut off at 8192 tokens, .*; raise maxOutputTokens of the model in its pool/,
      ],
    ],
    [
      'ended by a filter',
      times(7, filtered),
      [
        /^A filter of the provider ended your reply before a tool call, so that nothing was done\. Go on in other words/,
        null,
        /^Notice: a filter of the provider ended 3 replies in a row before a tool call\. .*other words/,
        null,
        /^Notice: still no progress: a filter of the provider ended 5 replies/,
        null,
        /^a filter of the provider ended 7 replies in a row before a tool call, .*; word the goal in another way, or use another model/,
      ],
    ],
    [
      'without a call, some of them cut off',
      [silent, cut, cut],
      [/no tool call/, /cut off at 8192/, /^Notice: 3 replies in a row without a tool call\. Your reply was cut off/],
    ],
    [
      'without a call',
      times(7, silent),
      [null, null, null, null, null, null, /^7 replies in a row without a tool call, .*; make the goal more precise/],
    ],
    [
      'cut off after others that were not',
      [...times(3, silent), ...times(4, cut)],
      [null, null, null, null, null, null, /^2 replies in a row were cut off at 8192 tokens, .*; raise maxOutputTokens/],
    ],
    ['with calls again', [cut, cut, a], [null, null, null]],
    [
      'that repeats itself',
      [looped],
      [
        /^Your reply repeated itself until it was cut off at 8192 tokens, before a tool call, .*Do not take it up again: call a tool at once/,
      ],
    ],
    [
      'that asks',
      [{ ...silent, remark: 'Nobody answers.' }],
      [/^Your reply had no tool call, .* are not run\. Nobody answers\. Call a tool/],
    ],
  ])('words what a model can do about a reply %s', ([, replies, words]) => {
    const said = judgements(replies);
    for (const [at, expected] of words.entries()) if (expected !== null) expect(said[at]?.text).toMatch(expected);
    for (const { text } of said.slice(0, 6)) expect(text ?? '').not.toContain('maxOutputTokens');
    if (replies.at(-1)?.cut === undefined) expect(said.at(-1)?.text ?? '').not.toMatch(/maxOutputTokens|filter/);
    else expect(said.at(-1)?.text).not.toContain('more precise');
  });

  it('counts at the end what came before the notices', () => {
    const last = (steps: StepTrace[]): string => judgements(steps).at(-1)?.text ?? '';
    expect(last(times(8, a))).toMatch(/^the same call with the same result 8 times in a row/);
    expect(last(times(7, failed))).toMatch(/^the same call failed 7 times in a row/);
    expect(last(times(7, a, b))).toMatch(/^14 steps that go to and fro/);
  });

  it('exempts waits for an hour', () => {
    const wait = (at: number): StepTrace => ({ calls: [call('bash', { waited: true })], at });
    const minutes = Array.from({ length: 90 }, (_, n) => wait(n * 60_000));
    expect(assess(minutes.slice(0, 60), 59 * 60_000).kind).toBe('Continue');
    const after = minutes.map((_, n) => assess(minutes.slice(0, n + 1), n * 60_000).kind);
    expect(after.slice(0, 61)).toEqual(Array.from({ length: 61 }, () => 'Continue'));
    expect(after.slice(61)).toContain('Nudge');
  });
});

describe('refusals', () => {
  it('count down from 3 by one rule, leave a last turn at 6 and end the attempt after it', () => {
    const said = judgements([...times(6, refused('rule-a')), ...times(1, silent)]);
    expect(said.map(({ kind }) => kind)).toEqual(['Continue', 'Continue', 'Nudge', 'Nudge', 'Nudge', 'LastTurn', 'End']);
    expect(said[2]?.text).toMatch(/^Rule rule-a has refused 3 of your recent calls, and will refuse such acts again.*After 3 more /s);
    expect([3, 4].map((at) => said[at]?.text)).toEqual([
      'Rule rule-a has refused 4 of your recent calls. After 2 more of them only submit is left.',
      'Rule rule-a has refused 5 of your recent calls. After 1 more of them only submit is left.',
    ]);
    expect(said[5]?.text).toMatch(/^Rule rule-a has refused 6 .*This is your last turn, and only submit is run in it/s);
    expect(said[6]).toMatchObject({
      class: 'PolicyViolation',
      reason: 'RefusedRepeatedly',
      text: expect.stringContaining('rule-a') as string,
    });
  });

  it.for<[string, StepTrace[]]>([
    ['one more refusal', times(1, refused('rule-a'))],
    ['a refusal by another rule', times(1, refused('rule-b'))],
    ['another call', times(1, a)],
  ])('end the attempt after a last turn with %s', ([, last]) => {
    const before = times(6, refused('rule-a'));
    expect([isLastTurn(before), isLastTurn(before.slice(1))]).toEqual([true, false]);
    expect(assess([...before, ...last], 0).kind).toBe('End');
  });

  it('count down from 6 and end the attempt after 12 where only a score objects', () => {
    const scored = (_: StepTrace, n: number): StepTrace =>
      step(call('edit', { arguments: String(n), outcome: 'Refused', rule: 'gate 2: Policy, a learned score' }));
    const said = judgements(times(13, silent).map(scored));
    expect(said.findIndex(({ kind }) => kind === 'Nudge')).toBe(5);
    expect(said[5]?.text).toMatch(/has refused 6 of your recent calls; smaller acts may pass, the same ones will not\. After 6 more /);
    expect(said.slice(11)).toMatchObject([{ kind: 'LastTurn' }, { kind: 'End', reason: 'RefusedRepeatedly' }]);
  });

  it('end an attempt that repeats one call sooner, as standing still', () => {
    const same = step(call('edit', { outcome: 'Refused', rule: 'gate 2: Policy, a learned score' }));
    expect(kinds(times(8, same))).toBe('...n.rnE');
  });

  it.for<[string, StepTrace[]]>([
    ['of different rules', times(1, ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(refused))],
    ['in one reply', [step(...times(1, ...Array.from({ length: 9 }, () => refused('a'))).flatMap(({ calls }) => calls))]],
    ['far apart', times(7, refused('a'), ...fresh(bounds.refusalWindow / 3))],
  ])('do not end it when %s', ([, steps]) => {
    expect(judgements(steps).map(({ kind }) => kind)).not.toContain('End');
  });
});

describe('results and calls', () => {
  it.for<[string, string, string, boolean]>([
    ['durations', '3 passed in 0.12s', '3 passed in 1.4 s', true],
    ['times of day', '2026-01-01T10:00:00Z up', '2026-01-02T11:30:59Z up', true],
    ['addresses', '<Foo at 0x7f01>', '<Foo at 0x7faa>', true],
    ['counts', '3 passed', '4 passed', false],
  ])('compares %s', ([, one, other, equal]) => {
    expect(resultDigest(one) === resultDigest(other)).toBe(equal);
  });

  it('reports how many calls of a reply are run', () => {
    expect(notRun(200)).toContain(`200 calls, and at most ${maxCalls}`);
  });
});
