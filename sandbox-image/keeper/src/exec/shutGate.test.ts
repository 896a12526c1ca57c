import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acceleratedClock, echoing, startHarness, ulid, waitUntil, type Harness } from '../testing/index.ts';

let h: Harness;
beforeEach(async () => {
  h = await startHarness({ clock: acceleratedClock(20) });
});
afterEach(() => h[Symbol.asyncDispose]());

/** Requests that change the roots, or must not see them change. */
const exclusive: readonly (() => Promise<unknown>)[] = [
  () => h.client().takeSnapshot(),
  () => h.client().restore('s0001'),
  () => h.client().writeFile(join(h.workspace, 'late'), 'x'),
];
const refused = { code: 'AF_TOOLS_UNAVAILABLE', message: expect.stringContaining('commands may still run') as string };

describe('a command whose end was not observed keeps the gate shut until a runner reconnects', () => {
  it('when the runner is slow to die, however long that takes', async () => {
    // It answers pings: however slow this machine is, the link stays until it is dropped.
    const runner = await h.runner({ onFrame: ({ header }, it) => header.t === 'ping' && it.send({ t: 'pong', id: header['id'] }) });
    await h.client().takeSnapshot();
    const running = h.client().run({ execId: ulid(), tool: 'Shell', command: 'long', timeoutSeconds: 3600 });
    await waitUntil(() => runner.frames.some(({ header }) => header.t === 'exec'));
    runner.drop();
    expect((await running).end).toMatchObject({ interrupted: 'ToolsLost' });
    await waitUntil(async () => (await h.client().info()).running === null);
    for (const act of exclusive) await expect(act()).rejects.toMatchObject(refused);
    await expect(h.client().readFile(join(h.workspace, 'f'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await h.runner(echoing);
    for (const act of exclusive.slice(0, 2)) await expect(act()).resolves.toBeDefined();
  });

  it('when the keeper was restarted', async () => {
    await h.runner(echoing);
    await h.client().takeSnapshot();
    await h.stop();
    await h.start();
    for (const act of exclusive) await expect(act()).rejects.toMatchObject(refused);
    await h.runner(echoing);
    await expect(h.client().takeSnapshot()).resolves.toBeDefined();
  });
});
