import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { buildRunner } from '../snapshot/testing/runner.ts';
import { echoing, killable, startHarness, ulid, waitUntil, type Harness, type HarnessOptions } from '../testing/index.ts';

const runner = buildRunner();
afterAll(() => runner?.remove());

const open: Harness[] = [];

async function harness(options?: HarnessOptions): Promise<Harness> {
  const it = await startHarness(options);
  open.push(it);
  return it;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((it) => it[Symbol.asyncDispose]()));
});

const shell = (command: string, execId = ulid()) => ({ execId, tool: 'Shell', command }) as const;

describe('the gatekeepers of a command', () => {
  it('refuse it without tools, on an open network, and over the quota', async () => {
    const h = await harness();
    await expect(h.client().run(shell('x'))).rejects.toMatchObject({ code: 'AF_TOOLS_UNAVAILABLE' });
    const seen = await harness({ env: {} });
    await seen.runner({ info: { probe: { seccompDenies: true, landlockDenies: true, storeAbsent: false } } });
    await expect(seen.client().run(shell('x'))).rejects.toMatchObject({
      code: 'AF_TOOLS_UNAVAILABLE',
      message: expect.stringContaining('store') as string,
    });
    const full = await harness({ env: { AGENTFLEET_WORKSPACE_LIMIT_BYTES: '1048576' } });
    await full.runner(echoing);
    await writeFile(join(full.workspace, 'big'), Buffer.alloc(2 * 1024 * 1024, 1));
    expect((await full.client().run(shell('first'))).end.exitCode).toBe(0);
    await expect(full.client().run(shell('second'))).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    await expect(full.client().writeFile(join(full.workspace, 'more'), 'x')).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    await writeFile(join(full.workspace, 'big'), '');
    expect((await full.client().run(shell('third'))).end.exitCode).toBe(0);
  });

  it('kill it when the roots grow over the quota', async () => {
    const h = await harness({ env: { AGENTFLEET_WORKSPACE_LIMIT_BYTES: '1048576' } });
    const runner = await h.runner(killable);
    const running = h.client().run({ ...shell('dd'), timeoutSeconds: 30 });
    await waitUntil(() => runner.frames.length > 0);
    await writeFile(join(h.workspace, 'big'), Buffer.alloc(2 * 1024 * 1024, 1));
    expect((await running).end).toMatchObject({ killed: 'QuotaExceeded' });
  });

  it('kill it when its scratch folder does, and let the next one in to clear that', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'scratch-'));
    const h = await harness({ env: { AGENTFLEET_WORKSPACE_LIMIT_BYTES: '1048576', AGENTFLEET_SCRATCH: scratch } });
    const runner = await h.runner(killable);
    for (const name of ['first', 'second']) {
      const running = h.client().run({ ...shell(name), timeoutSeconds: 30 });
      await waitUntil(() => runner.frames.length > 0);
      await writeFile(join(scratch, 'big'), Buffer.alloc(2 * 1024 * 1024, 1));
      expect((await running).end).toMatchObject({ killed: 'QuotaExceeded' });
    }
    await rm(scratch, { recursive: true });
  });

  it.skipIf(runner === null)(
    'refuse a snapshot and then commands when the store has reached its limit, before the kubelet does',
    async () => {
      const h = await harness({ env: { AGENTFLEET_STORE_LIMIT_BYTES: String(4 * 1024 * 1024), AGENTFLEET_RUNNER: runner?.binary ?? '' } });
      await h.runner(echoing);
      await writeFile(join(h.workspace, 'big'), randomBytes(6 * 1024 * 1024));
      await expect(h.client().takeSnapshot()).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
      await writeFile(join(h.workspace, 'big'), randomBytes(3 * 1024 * 1024));
      await h.client().takeSnapshot();
      await writeFile(join(h.workspace, 'big'), randomBytes(3 * 1024 * 1024));
      await expect(h.client().takeSnapshot()).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
      await expect(h.client().run(shell('x'))).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
      expect((await h.client().info()).snapshots.count).toBe(1);
    },
  );

  it('end it when a newer assignment arrives, before that one acts', async () => {
    const h = await harness();
    const runner = await h.runner(killable);
    const old = h.client(1).run(shell('old'));
    await waitUntil(() => runner.frames.length > 0);
    const written = await h.client(2).writeFile(join(h.workspace, 'new'), 'x');
    expect(written.bytes).toBe(1);
    expect((await old).end).toMatchObject({ killed: 'Cancelled' });
    await expect(h.client(1).run(shell('late'))).rejects.toMatchObject({
      code: 'AF_EPOCH_STALE',
      message: expect.stringMatching(/epoch 1 .*epoch 2/) as string,
    });
    await expect(h.client(1).info()).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    await h.stop();
    await h.start();
    await expect(h.client(1).takeSnapshot()).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
  });
});
