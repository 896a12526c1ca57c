import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { describeTree, startRealKeeper, type Harness } from '@agentfleet/keeper/durable/testing';
import { silentLog, systemClock } from '@agentfleet/kube';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { createRails, installedGrammars, loadGrammars, type Rails } from '../rails/index.ts';
import { MemoryStore } from '../durable/testing/memoryStore.ts';
import type { AttemptContext, Report } from './ports.ts';
import { labels } from './prepare.ts';
import { rollBack } from './rollback.ts';

const mebibyte = 1024 * 1024;
let rails: Rails;
let keeper: Harness | undefined;

beforeAll(async () => {
  rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: '/home/agent' });
});
afterEach(async () => {
  await keeper?.[Symbol.asyncDispose]();
  keeper = undefined;
});

/** What a rollback asks for of an attempt. */
function contextOf(harness: Harness, reports: Report[]): AttemptContext {
  const assignment = { attempt: 2, epoch: 1 };
  const spec = {
    policy: { profile: 'Permissive', network: { mode: 'None' } },
    protect: { mode: 'Default' },
  };
  const context = {
    task: { metadata: { namespace: 'team', name: 'fix', uid: '0b1c' }, spec, status: {} },
    assignment,
    keeper: harness.client(),
    store: new MemoryStore(),
    clock: systemClock,
    log: silentLog,
    used: { earlier: {}, before: {} },
    signal: new AbortController().signal,
    report: (change: Report) => reports.push(change),
  };
  return context as unknown as AttemptContext;
}

it.each([
  ['larger than the room for its snapshot', 20, true],
  ['small', 1, false],
])('the tree is put back and verified when what the agent left is %s', async (_, mebibytes, unkept) => {
  keeper = await startRealKeeper({ env: { AGENTFLEET_STORE_LIMIT_BYTES: String(16 * mebibyte) } });
  const reports: Report[] = [];
  writeFileSync(join(keeper.workspace, 'a'), 'before');
  const { id, manifestDigest } = await keeper.client().takeSnapshot(labels.initial);
  const tree = describeTree(keeper.workspace, 'workspace', new Map());
  writeFileSync(join(keeper.workspace, 'a'), randomBytes(mebibytes * mebibyte));
  const restored = await rollBack(
    { rails, openEgress: () => Promise.reject(new Error('nothing is open')) },
    contextOf(keeper, reports),
    'Initial',
  );
  expect(restored).toMatchObject({ snapshot: id, verified: true, manifestDigest });
  expect(describeTree(keeper.workspace, 'workspace', new Map())).toEqual(tree);
  const reported = restored.irreversible?.some((line) => line.startsWith('what was changed last could not be kept')) ?? false;
  expect(reported).toBe(unkept);
  const names = reports.flatMap(({ artifacts }) => artifacts ?? []).map(({ name }) => name);
  expect(names.includes('change.patch')).toBe(!unkept);
});
