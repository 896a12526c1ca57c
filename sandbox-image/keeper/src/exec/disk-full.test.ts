import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startHarness, ulid, waitUntil, type FakeRunner } from '../testing/index.ts';

const store = mkdtempSync(join(tmpdir(), 'small-store-'));
const mounted = mountSmall();

function mountSmall(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', store], { stdio: 'ignore' });
    return true;
  } catch {
    console.error('SKIPPED: a small file system cannot be mounted here');
    return false;
  }
}

afterAll(() => {
  if (mounted) execFileSync('umount', [store]);
  rmSync(store, { recursive: true });
});

const shell = (command: string) => ({ execId: ulid(), tool: 'Shell', command }) as const;

/** Writes 6 MiB and ends when it is killed or done; short commands end at once. `meanwhile` runs after the first MiB. */
function flood(runner: FakeRunner, id: string, meanwhile: () => void = () => undefined): void {
  runner.send({ t: 'start', id, pid: 1 });
  for (let sent = 0; sent < 192; sent++) {
    if (sent === 32) meanwhile();
    runner.out(id, 'stdout', Buffer.alloc(32 * 1024, 'x'));
  }
}

/** Another process fills the volume. */
function fill(): void {
  execFileSync('sh', ['-c', `dd if=/dev/zero of="${store}/ballast" bs=64k 2>/dev/null || true`]);
}

describe.skipIf(!mounted)('a full store', () => {
  it('ends the command with ENOSPC, records it in the log, refuses the next, and recovers', async () => {
    await using h = await startHarness({ storeDir: store });
    await h.runner({
      onFrame: ({ header }, runner) => {
        const id = String(header['id']);
        const command = (header['argv'] as string[] | undefined)?.at(-1);
        if (header.t === 'kill') runner.end(id, { exitCode: null, signal: 'SIGTERM', killed: header['reason'] });
        else if (command === 'flood') flood(runner, id, fill);
        else runner.end(id);
      },
    });
    expect((await h.client().run(shell('small'))).end.exitCode).toBe(0);
    const { end } = await h.client().run(shell('flood'));
    expect(end).toMatchObject({ killed: 'Cancelled', error: { code: 'ENOSPC' } });
    await h.running.keeper.parts.log.flush();
    expect(await h.client().audit()).toMatchObject({ ok: true });
    const ends: unknown[] = [];
    for await (const { type, body } of h.client().events()) if (type === 'ExecEnded') ends.push(body);
    expect(ends.at(-1)).toMatchObject({ error: { code: 'ENOSPC' }, lostEvents: expect.any(Number) as number });
    await expect(h.client().run(shell('next'))).rejects.toMatchObject({ code: 'AF_STORE_FULL', status: 507 });
    expect((await h.client().info()).ready).toBe(true);
    rmSync(join(store, 'ballast'));
    expect((await h.client().run(shell('after'))).end.exitCode).toBe(0);
  });

  it('is not filled by a command: output beyond the room is counted', async () => {
    execFileSync('sh', ['-c', `rm -rf "${store}"/* "${store}"/.reserve`]);
    await using h = await startHarness({ storeDir: store });
    await h.runner({
      onFrame: ({ header }, runner) => {
        const id = String(header['id']);
        if ((header['argv'] as string[] | undefined)?.at(-1) === 'flood') flood(runner, id);
        runner.end(id);
      },
    });
    for (const _ of [1, 2, 3]) {
      const { end, stdout } = await h.client().run(shell('flood'));
      expect(end).toMatchObject({ killed: null, exitCode: 0 });
      expect(stdout.length).toBeGreaterThan(1024 * 1024);
      expect(stdout.length + end.dropped.stdout).toBe(6 * 1024 * 1024);
    }
    expect((await h.client().run(shell('after'))).end.exitCode).toBe(0);
    await h.client().note('Still', { there: true });
  });

  it('refuses an intent that the log cannot hold: nothing is run', async () => {
    execFileSync('sh', ['-c', `rm -rf "${store}"/* "${store}"/.reserve`]);
    await using h = await startHarness({ storeDir: store });
    const runner = await h.runner({ onFrame: ({ header }, r) => r.end(String(header['id'])) });
    const { log } = h.running.keeper.parts;
    const commit = log.commit.bind(log);
    // Another process takes the room after the command was admitted.
    log.commit = (type, body) => {
      fill();
      return commit(type, body);
    };
    const argv = Array.from({ length: 9 }, () => 'y'.repeat(110_000));
    await expect(h.client().run({ execId: ulid(), tool: 'ExecCode', argv })).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
    expect(runner.frames).toHaveLength(0);
    log.commit = commit;
    rmSync(join(store, 'ballast'));
    await waitUntil(async () => (await h.client().audit()).ok);
    expect((await h.client().run(shell('after'))).end.exitCode).toBe(0);
  });
});
