import { Readable } from 'node:stream';
import { systemClock } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { MemoryStore } from '../durable/testing/memoryStore.ts';
import { StoreFailure } from '../store/index.ts';
import { close, type Ledger } from './closing.ts';
import type { AttemptContext, Outcome, Report } from './ports.ts';

const stopped: Outcome = { result: 'Stopped', reason: 'Stopped', message: 'stopped as directed' };
const failure: Outcome = { result: 'Failed', reason: 'ProposalsExhausted', class: 'Stuck', message: 'nothing helped' };
const success: Outcome = { result: 'Succeeded', reason: 'ChecksHold', message: 'all checks hold' };

interface Left {
  /** Names of the artifacts. */
  readonly names: readonly string[];
  /** What bundles were asked for. */
  readonly bundles: readonly unknown[];
  readonly ended: Outcome;
  readonly said: readonly string[];
}

/** What the end of an attempt leaves. */
async function leaves(outcome: Outcome, rollback: object, before: MemoryStore['before'] = () => undefined): Promise<Left> {
  const store = new MemoryStore();
  store.before = before;
  const said: string[] = [];
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
    report: ({ progress }: Report) => void said.push(progress?.message ?? ''),
  } as unknown as AttemptContext;
  const ledger = { prepared: { initial: { id: 's0' } }, proofs: [], reviews: [] } as unknown as Ledger;
  const ended = await close(context, ledger, outcome);
  return { names: store.keys('').map((key) => key.split('/').at(-1) ?? ''), bundles, ended, said };
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

/** A store that refuses the first `times` puts of a file. */
function refusing(file: string, failure: StoreFailure, times = Infinity): MemoryStore['before'] {
  let refused = 0;
  return (call) => {
    if (call.endsWith(file) && (refused += 1) <= times) throw failure;
  };
}

test.each(['revert.tar', 'trace.ndjson'])('a success ends without its %s where no store takes it, and says so', async (file) => {
  const tooLarge = new StoreFailure('TooLarge', 'it has 70 MiB');
  const { names, ended } = await leaves(success, { whenFailed: 'Keep' }, refusing(file, tooLarge));
  expect(ended).toMatchObject({ result: 'Succeeded', message: `all checks hold; ${file} is left out: it has 70 MiB` });
  expect(names).toHaveLength(3);
});

test('no success whose patch no store takes', async () => {
  const tooLarge = new StoreFailure('TooLarge', 'it has 70 MiB');
  const { names, ended } = await leaves(success, { whenFailed: 'Keep' }, refusing('change.patch', tooLarge));
  expect(ended).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason: 'TooLarge' });
  expect(ended.message).toMatch(/change\.patch cannot be kept: it has 70 MiB; let one task change less/);
  expect(names).toContain('revert.tar');
});

test('what an administrator can mend is waited for, with the cure', async () => {
  const denied = new StoreFailure('Denied', 'put: AccessDenied');
  const { ended, said } = await leaves(success, { whenFailed: 'Keep' }, refusing('change.patch', denied, 1));
  expect(ended.result).toBe('Succeeded');
  expect(said).toContain(`storing change.patch again, the store said: put: AccessDenied; ${denied.cure}`);
});
