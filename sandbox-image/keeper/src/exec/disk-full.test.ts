import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
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

/** Writes 6 MiB and ends when it is killed or done; short commands end at once. */
function flood(runner: FakeRunner, id: string): void {
  runner.send({ t: 'start', id, pid: 1 });
  for (let sent = 0; sent < 192; sent++) runner.out(id, 'stdout', Buffer.alloc(32 * 1024, 'x'));
}

describe.skipIf(!mounted)('a full store', () => {
  it('ends the command with ENOSPC, says so in the log, refuses the next, and recovers', async () => {
    await using h = await startHarness({ storeDir: store });
    await h.runner({
      onFrame: ({ header }, runner) => {
        const id = String(header['id']);
        const command = (header['argv'] as string[] | undefined)?.at(-1);
        if (header.t === 'kill') runner.end(id, { exitCode: null, signal: 'SIGTERM', killed: header['reason'] });
        else if (command === 'flood') flood(runner, id);
        else runner.end(id);
      },
    });
    expect((await h.client().run(shell('small'))).end.exitCode).toBe(0);
    const { end, stdout } = await h.client().run(shell('flood'));
    expect(end).toMatchObject({ killed: 'Cancelled', error: { code: 'ENOSPC' } });
    expect(stdout.length).toBeGreaterThan(1024 * 1024);
    await h.running.keeper.parts.log.flush();
    expect(await h.client().audit()).toMatchObject({ ok: true });
    const ends: unknown[] = [];
    for await (const { type, body } of h.client().events()) if (type === 'ExecEnded') ends.push(body);
    expect(ends.at(-1)).toMatchObject({ error: { code: 'ENOSPC' }, lostEvents: expect.any(Number) as number });
    await expect(h.client().run(shell('next'))).rejects.toMatchObject({ code: 'AF_STORE_FULL', status: 507 });
    expect((await h.client().info()).ready).toBe(true);
    execFileSync('sh', ['-c', `rm -f "${store}"/execs/*`]);
    expect((await h.client().run(shell('after'))).end.exitCode).toBe(0);
  });

  it('refuses an intent that the log cannot hold: nothing is run', async () => {
    execFileSync('sh', ['-c', `rm -rf "${store}"/* "${store}"/.reserve`]);
    await using h = await startHarness({ storeDir: store });
    const runner = await h.runner({ onFrame: ({ header }, r) => r.end(String(header['id'])) });
    const { bavail, bsize } = await statfs(store);
    // Room for the start of a command by the check, none for its 900 KB intent.
    writeFileSync(join(store, 'ballast'), Buffer.alloc(bavail * bsize - 1024 * 1024 - 100_000, 1));
    const argv = Array.from({ length: 9 }, () => 'y'.repeat(110_000));
    await expect(h.client().run({ execId: ulid(), tool: 'ExecCode', argv })).rejects.toMatchObject({ code: 'AF_STORE_FULL' });
    expect(runner.frames).toHaveLength(0);
    rmSync(join(store, 'ballast'));
    await waitUntil(async () => (await h.client().audit()).ok);
    expect((await h.client().run(shell('after'))).end.exitCode).toBe(0);
  });
});
