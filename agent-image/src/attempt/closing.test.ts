import { Readable } from 'node:stream';
import { systemClock } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { MemoryStore } from '../durable/testing/memoryStore.ts';
import { close, type Ledger } from './closing.ts';
import type { AttemptContext, Outcome } from './ports.ts';

const stopped: Outcome = { result: 'Stopped', reason: 'Stopped', message: 'stopped as directed' };
const failure: Outcome = { result: 'Failed', reason: 'ProposalsExhausted', class: 'Stuck', message: 'nothing helped' };
const success: Outcome = { result: 'Succeeded', reason: 'ChecksHold', message: 'all checks hold' };

/** Names of the artifacts that the end of an attempt leaves, with what bundles were asked for. */
async function leaves(
  outcome: Outcome,
  rollback: object,
): Promise<{ readonly names: readonly string[]; readonly bundles: readonly unknown[] }> {
  const store = new MemoryStore();
  const bundles: unknown[] = [];
  const keeper = {
    note: () => Promise.resolve(),
    audit: () => Promise.resolve({ ok: true, root: 'ab'.repeat(32), broken: null }),
    snapshots: () => Promise.resolve([]),
    info: () => Promise.resolve({ snapshots: { engine: 'CAS' } }),
    diff: () => Promise.resolve({ unified: '', entries: [] }),
    events: () => Readable.from([]),
    revertBundle: (from: string, to?: string) => {
      bundles.push([from, to]);
      return Promise.resolve(Readable.from(['tar']));
    },
  };
  const context = {
    task: { metadata: { name: 't', namespace: 'n', uid: 'u' }, spec: { goal: 'g', rollback } },
    assignment: { attempt: 1 },
    keeper,
    store,
    clock: systemClock,
    log: { warn: () => undefined },
    signal: new AbortController().signal,
    report: () => undefined,
  } as unknown as AttemptContext;
  const ledger = { prepared: { initial: { id: 's0' } }, proofs: [], reviews: [] } as unknown as Ledger;
  await close(context, ledger, outcome);
  return { names: store.keys('').map((key) => key.split('/').at(-1) ?? ''), bundles };
}

test.each([
  ['a success', success, 'RestoreInitial'],
  ['a stop', stopped, 'RestoreInitial'],
  ['a failure whose tree is kept', failure, 'Keep'],
])('%s leaves a script that undoes its change', async (_, outcome, whenFailed) => {
  const { names, bundles } = await leaves(outcome, { whenFailed });
  expect(names).toContain('revert.tar');
  expect(bundles).toEqual([['s0', undefined]]);
});

test('a failure that is rolled back leaves that to the rollback', async () => {
  expect((await leaves(failure, { whenFailed: 'RestoreInitial' })).names).not.toContain('revert.tar');
});
