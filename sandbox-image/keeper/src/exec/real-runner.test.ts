import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildRunner, RealRunner, startHarness, ulid, waitUntil, type Harness } from '../testing/index.ts';

const built = await buildRunner();
if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);

describe.skipIf('why' in built)('a keeper with the real runner', () => {
  const binary = 'binary' in built ? built.binary : '';
  let h: Harness;
  let runner: RealRunner;

  afterAll(() => rm(dirname(binary), { recursive: true, force: true }));

  beforeEach(async () => {
    h = await startHarness({ env: { AGENTFLEET_RUNNER: binary } });
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    await ready();
  });

  afterEach(async () => {
    await runner.kill();
    await h[Symbol.asyncDispose]();
  });

  const ready = () => waitUntil(async () => (await h.client().info()).ready, 10_000);
  const shell = (command: string) => ({ execId: ulid(), tool: 'Shell', command }) as const;

  it('runs a command with its input, output, environment and exit code', async () => {
    const { end, stdout, stderr } = await h.client().run({ ...shell('cat; echo "$HOME" >&2; exit 3'), stdin: 'grüße\n' });
    expect(stdout).toBe('grüße\n');
    expect(stderr).toBe(`${join(h.dir, 'home')}\n`);
    expect(end).toMatchObject({ exitCode: 3, timedOut: false, killed: null, swept: 0 });
  });

  it('ends a command at its time limit', async () => {
    const { end } = await h.client().run({ ...shell('sleep 60'), timeoutSeconds: 1 });
    expect(end).toMatchObject({ timedOut: true, exitCode: null });
    expect(end.durationMs).toBeLessThan(4000);
  });

  // Once in many runs on a loaded machine the command ended by itself with 127 before it was cancelled; why is not known.
  it('cancels a command and everything it started', { retry: 1 }, async () => {
    const client = h.client();
    const request = { ...shell('setsid sleep 61 & sleep 60'), timeoutSeconds: 30 };
    const running = client.run(request);
    await waitUntil(async () => (await client.info()).running === request.execId);
    await client.cancel(request.execId);
    const { end, stdout, stderr } = await running;
    expect(end, JSON.stringify({ end, stdout, stderr })).toMatchObject({ killed: 'Cancelled' });
  });

  it('keeps bytes that are not text, and characters that arrive in two parts', async () => {
    const outputs: unknown[] = [];
    const command = String.raw`printf '\377\376a'; sleep 0.1; printf 'x\303'; sleep 0.1; printf '\274'`;
    for await (const event of h.client().exec({ ...shell(command), redaction: 'Raw' })) {
      if (event.type === 'out') outputs.push('b64' in event ? Buffer.from(event.b64, 'base64') : event.text);
    }
    expect(outputs).toEqual([Buffer.from([0xff, 0xfe, 0x61]), 'x', 'ü']);
  });

  it('survives the loss of the tools container under a command', async () => {
    const running = h.client().run({ ...shell('sleep 60'), timeoutSeconds: 30 });
    await waitUntil(async () => (await h.client().info()).running !== null);
    await runner.kill();
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    expect((await running).end).toMatchObject({ interrupted: 'ToolsLost' });
    await ready();
    expect((await h.client().run(shell('echo back'))).stdout).toBe('back\n');
  });

  it('restarts the tools on request: the runner exits and its instance is gone', async () => {
    const before = (await h.client().info()).tools.instance;
    await h.client().restartTools();
    await runner.exited;
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    await ready();
    const { tools } = await h.client().info();
    expect(tools).toMatchObject({ connected: true, connections: 2 });
    expect(tools.instance).not.toBe(before);
  });

  it('takes the tree back to a snapshot after a command changed it', async () => {
    const client = h.client();
    await client.writeFile(join(h.workspace, 'kept'), 'before');
    const snapshot = await client.takeSnapshot('start');
    await client.run(shell('echo after > kept; mkdir new; echo x > new/file'));
    const report = await client.restore(snapshot.id);
    expect(report).toMatchObject({ verified: true, manifestDigest: snapshot.manifestDigest });
    expect(await readFile(join(h.workspace, 'kept'), 'utf8')).toBe('before');
    expect((await client.audit()).ok).toBe(true);
  });
});
