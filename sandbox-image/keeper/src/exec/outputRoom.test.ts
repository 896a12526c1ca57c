import { truncateSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { afterEach, describe, expect, it } from 'vitest';
import { describeTree, startRealKeeper } from '../durable/testing/index.ts';
import { systemClock } from '../base/clock.ts';
import { StoreUsage } from './outputRoom.ts';
import { ulid, waitUntil, type FakeRunner, type Harness } from '../testing/index.ts';

const mebibyte = 1024 * 1024;
const limit = 24 * mebibyte;
let h: Harness | undefined;

afterEach(async () => {
  await h?.[Symbol.asyncDispose]();
  h = undefined;
});

/** Starts a keeper with a small store, whose commands write as many MiB as their last word. */
async function small(): Promise<Harness> {
  h = await startRealKeeper({ env: { AGENTFLEET_STORE_LIMIT_BYTES: String(limit) } });
  await h.runner({ onFrame: ({ header }, runner) => write(header, runner) });
  return h;
}

function write(header: Readonly<Record<string, unknown>>, runner: FakeRunner): void {
  const id = String(header['id']);
  if (header['t'] === 'kill') runner.end(id, { exitCode: null, signal: 'SIGTERM', killed: header['reason'] });
  const argv = header['argv'] as string[] | undefined;
  if (header['t'] !== 'exec' || argv === undefined) return;
  const pieces = Number(argv.at(-1)) * 16;
  runner.send({ t: 'start', id, pid: 1 });
  for (let n = 0; n < pieces; n++) runner.out(id, 'stdout', Buffer.alloc(mebibyte / 16, 'x'));
  runner.end(id, { bytes: { stdout: (pieces * mebibyte) / 16, stderr: 0 } });
}

const writing = (mebibytes: number) => ({ execId: ulid(), tool: 'Shell', command: String(mebibytes), redaction: 'Raw' }) as const;

async function records(keeper: Harness, type: string): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const record of keeper.client().events()) if (record.type === type) found.push(record);
  return found;
}

it('a snapshot of a long file that holds nothing leaves the store its room', async () => {
  const keeper = await small();
  writeFileSync(join(keeper.workspace, 'sparse'), '');
  truncateSync(join(keeper.workspace, 'sparse'), 8 * limit);
  await keeper.client().takeSnapshot();
  expect(await new StoreUsage(keeper.store, systemClock).bytes()).toBeLessThan(limit / 4);
});

it('the store is measured again after 10 s, though the wall clock is set back', async () => {
  const keeper = await small();
  let [wall, passed] = [0, 0];
  const usage = new StoreUsage(keeper.store, { ...systemClock, now: () => (wall -= 1000), monotonic: () => passed });
  const before = await usage.bytes();
  writeFileSync(join(keeper.store, 'more'), Buffer.alloc(mebibyte, 'x'));
  passed = 9999;
  expect(await usage.bytes()).toBe(before);
  passed = 10_000;
  expect(await usage.bytes()).toBeGreaterThanOrEqual(before + mebibyte);
});

describe('commands that write more than the store holds', { timeout: 60_000 }, () => {
  it('all run, and the tree can still be taken back, noted and audited', async () => {
    const keeper = await small();
    writeFileSync(join(keeper.workspace, 'a'), 'before');
    const { id, manifestDigest } = await keeper.client().takeSnapshot('initial');
    const tree = describeTree(keeper.workspace, 'workspace', new Map());
    for (let n = 0; n < 14; n++) {
      const { end, stdout } = await keeper.client().run(writing(2));
      expect([end.exitCode, stdout.length]).toEqual([0, 2 * mebibyte]);
    }
    writeFileSync(join(keeper.workspace, 'a'), Buffer.alloc(mebibyte, 'after'));
    await keeper.client().takeSnapshot('before rollback 1');
    expect(await keeper.client().restore(id)).toMatchObject({ verified: true, manifestDigest });
    await keeper.client().note('RolledBack', { snapshot: id });
    expect(describeTree(keeper.workspace, 'workspace', new Map())).toEqual(tree);
    expect(await keeper.client().audit()).toMatchObject({ ok: true });
  });

  it('lose the oldest output and report it, and keep their ids and the hashes in the log', async () => {
    const keeper = await small();
    const all = Array.from({ length: 6 }, () => writing(2));
    for (const one of all) await keeper.client().run(one);
    const [first] = all;
    await waitUntil(async () => (await records(keeper, 'OutputCut')).length > 0);
    expect((await records(keeper, 'OutputCut')).map(({ body }) => body['execId'])[0]).toBe(first?.execId);
    expect(await records(keeper, 'ExecEnded')).toHaveLength(6);
    for (const again of [1, 2]) {
      const { end, stdout } = await keeper.client().run(first ?? writing(0));
      expect([end.cut, end.exitCode, end.dropped, stdout.length]).toEqual([true, 0, { stdout: 2 * mebibyte, stderr: 0 }, 0]);
      // A follower in the middle of the output gets the end, too.
      for await (const event of keeper.client().follow(first?.execId ?? '', 30)) expect(event.type).toBe('end');
      expect(await keeper.client().waitFor(first?.execId ?? '')).toMatchObject({ cut: true });
      await expect(keeper.client().run({ ...writing(1), execId: first?.execId ?? '' })).rejects.toMatchObject({
        code: 'AF_EXEC_ID_REUSED',
      });
      if (again === 1) await restarted(keeper);
    }
    expect((await keeper.client().run(all.at(-1) ?? writing(0))).stdout).toHaveLength(2 * mebibyte);
    expect(await keeper.client().audit()).toMatchObject({ ok: true });
  });

  it('leave a snapshot the room that their output has', async () => {
    const keeper = await small();
    for (let n = 0; n < 3; n++) await keeper.client().run(writing(2));
    for (const name of ['a', 'b', 'c']) writeFileSync(join(keeper.workspace, name), Buffer.alloc(5 * mebibyte, name));
    await keeper.client().takeSnapshot();
    writeFileSync(join(keeper.workspace, 'd'), Buffer.alloc(6 * mebibyte, 'd'));
    await expect(keeper.client().takeSnapshot()).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
    await keeper.client().takeSnapshot('before rollback 1');
    await keeper.client().note('Still', { there: true });
    for (const name of await readdir(join(keeper.store, 'execs'))) expect(name).toMatch(/\.ndjson$/);
  });
});

async function restarted(keeper: Harness): Promise<void> {
  await keeper.stop();
  await keeper.start();
  await keeper.runner({ onFrame: ({ header }, runner) => write(header, runner) });
}
