import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countLedger, emptyLedger, ledgerOf, mostTasks, ledgerText, type Sample, shadowIn } from './ledger.ts';

const b = 'bbbbbbbbbb';

describe('the book of a rollout', () => {
  const sample = (uid: string, more: Partial<Sample> = {}): Sample => ({
    uid,
    revision: b,
    passed: true,
    acts: { vetoed: 1, total: 4 },
    rolledBack: undefined,
    energy: 0.5,
    ...more,
  });

  it('counts each task once, however often and in whatever order it is seen', () => {
    const all = Array.from({ length: 300 }, (_, index) => sample(`uid-${index}`, { passed: index % 3 !== 0 }));
    let ledger = emptyLedger('r');
    for (let from = 0; from < 300; from += 7) ledger = countLedger(ledger, [...all.slice(from, from + 20), ...all.slice(0, 9)]);
    ledger = ledgerOf(ledgerText(ledger), 'r')!;
    expect(countLedger(ledger, all.toReversed())).toBe(ledger);
    expect(ledger.arms[b]).toMatchObject({ tasks: { passed: 200, total: 300 }, acts: { vetoed: 300, total: 1200 } });
    expect(ledger.arms[b]?.energies).toHaveLength(300);
  });

  it('counts what went wrong after an act that passed, each task once', () => {
    const all = [
      sample('failed', { passed: false }),
      sample('undone', { rolledBack: true }),
      sample('failed and undone', { passed: false, rolledBack: false }),
      sample('well', {}),
      sample('all was refused', { passed: false, acts: { vetoed: 4, total: 4 } }),
      sample('nothing was asked', { passed: false, acts: { vetoed: 0, total: 0 } }),
      sample('not its own', { passed: undefined, rolledBack: true }),
      sample('undone by a person', { passed: undefined, rolledBack: true, revoked: true }),
      sample('undone before any act', { passed: undefined, rolledBack: true, revoked: true, acts: { vetoed: 0, total: 0 } }),
    ];
    const order = fc.shuffledSubarray([...all, ...all, ...all], { minLength: 3 * all.length });
    fc.assert(
      fc.property(order, fc.integer({ min: 1, max: 9 }), (seen, size) => {
        let ledger = emptyLedger('r');
        for (let at = 0; at < seen.length; at += size) ledger = ledgerOf(ledgerText(countLedger(ledger, seen.slice(at, at + size))), 'r')!;
        expect(ledger.arms[b]?.passedActs).toEqual({ missed: 4, total: 5 });
        expect(ledger.arms[b]).toMatchObject({ tasks: { total: 6 }, excluded: 3 });
      }),
      { numRuns: 50 },
    );
  });

  it('counts probabilities by their bins, each task once', () => {
    const said = [0, 0.009, 0.01, 0.5, 0.989, 0.99, 1];
    const all = [...said.map((pSuccess, at) => sample(`p${at}`, { pSuccess })), sample('none')];
    const ledger = countLedger(countLedger(emptyLedger('r'), all), all.toReversed());
    expect(ledger.arms[b]?.scores).toEqual([2, 1, 0, 0, 0, 1, 0, 0, 1, 2]);
  });

  it('is read where an operator of before wrote it, which holds nothing of what that did not count', () => {
    const { passedActs: _, scores: __, ...before } = countLedger(emptyLedger('r'), [sample('x')]).arms[b] ?? {};
    const ledger = ledgerOf(
      { 'counts.json': JSON.stringify({ rollout: 'r', arms: { [b]: before }, shadow: { tasks: 1 } }), counted: '' },
      'r',
    )!;
    expect(ledger.arms[b]).toMatchObject({ tasks: { total: 1 }, passedActs: { missed: 0, total: 0 } });
    const next = countLedger(ledger, [sample('y', { passed: false, pSuccess: 0.3 }), { ...sample('z'), shadow: null }]);
    expect(next.arms[b]).toMatchObject({ tasks: { total: 2 }, passedActs: { missed: 1, total: 1 } });
    expect(next.shadow).toMatchObject({ tasks: 2, scores: { stable: expect.any(Array) as unknown } });
  });

  it('leaves out what is not the arm\u2019s, and forgets what another rollout counted', () => {
    const ledger = countLedger(emptyLedger('r'), [sample('x', { passed: undefined }), sample('y', { rolledBack: false })]);
    expect(ledger.arms[b]).toMatchObject({ tasks: { passed: 1, total: 1 }, excluded: 1, rollbacks: { verified: 0, total: 1 } });
    expect(ledgerOf(ledgerText(ledger), 'other')).toEqual(emptyLedger('other'));
    expect(ledgerOf(undefined, 'r')).toEqual(emptyLedger('r'));
  });

  it('is full before a ConfigMap is, and counts no more then', () => {
    const counted = new Set(Array.from({ length: mostTasks - 5000 }, (_, at) => `${at}`.padStart(8, '.')));
    const all = ['aaaaaaaaaa', b].flatMap((revision) =>
      Array.from({ length: 3000 }, (_, at) => sample(`${revision} ${at}`, { revision, energy: -Math.PI * at })),
    );
    const ledger = countLedger({ ...emptyLedger('r'), counted }, all);
    expect([ledger.counted.size, ledger.arms[b]?.tasks.total]).toEqual([mostTasks, 2000]);
    expect(countLedger(ledger, [sample('late')])).toBe(ledger);
    expect(JSON.stringify(ledgerText(ledger)).length).toBeLessThan(950_000);
  });

  it.each([
    '{oops',
    '5',
    'null',
    '{"rollout":"r"}',
    '{"rollout":"r","arms":{"b":{"tasks":null}}}',
    '{"rollout":"r","arms":{},"shadow":{"copies":7}}',
  ])('that is damaged is neither read nor taken for an empty one: %s', (text) => {
    expect(ledgerOf({ 'counts.json': text }, 'r')).toBeNull();
    expect(shadowIn({ 'counts.json': text }, 'r')).toBeUndefined();
  });
});
