import { readFile, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execBounds, type ExecRequest } from '@agentfleet/protocol/keeper';
import { buildRunner, RealRunner, startHarness, ulid, waitUntil, type Harness } from '../testing/index.ts';

const built = await buildRunner();
if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);

const shell = (command: string, more: Partial<ExecRequest> = {}) =>
  ({ execId: ulid(), tool: 'Shell', command, timeoutSeconds: 60, ...more }) as ExecRequest;

describe.skipIf('why' in built)('commands that live, with the real runner', () => {
  const binary = 'binary' in built ? built.binary : '';
  let h: Harness;
  let runner: RealRunner;

  afterAll(() => rm(dirname(binary), { recursive: true, force: true }));

  beforeEach(async () => {
    h = await startHarness({ env: { AGENTFLEET_RUNNER: binary } });
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    await waitUntil(async () => (await h.client().info()).ready, 10_000);
  });

  afterEach(async () => {
    await runner.kill();
    await h[Symbol.asyncDispose]();
  });

  const journalOf = (request: ExecRequest) => readFile(join(h.store, 'execs', `${request.execId}.ndjson`), 'utf8').catch(() => '');
  const hears = (request: ExecRequest, text: string) => waitUntil(async () => (await journalOf(request)).includes(text));
  const begun = (request: ExecRequest) => hears(request, '"start"');

  it('take their input in numbered parts, each once', async () => {
    const client = h.client();
    const request = shell('while read line; do echo "got $line"; done; echo over', { stdinMode: 'Open' });
    const running = client.run(request);
    await begun(request);
    expect(await client.writeStdin(request.execId, 1, 'one\n')).toEqual({ execId: request.execId, seq: 1, repeated: false });
    expect(await client.writeStdin(request.execId, 1, 'one\n')).toMatchObject({ repeated: true });
    await expect(client.writeStdin(request.execId, 1, 'uno\n')).rejects.toMatchObject({ code: 'AF_STDIN_SEQUENCE' });
    await expect(client.writeStdin(request.execId, 3, 'three\n')).rejects.toMatchObject({ code: 'AF_STDIN_SEQUENCE' });
    await client.writeStdin(request.execId, 2, '', true);
    const { stdout, end } = await running;
    expect({ stdout, code: end.exitCode }).toEqual({ stdout: 'got one\nover\n', code: 0 });
    await expect(client.writeStdin(request.execId, 3, 'x')).rejects.toMatchObject({ code: 'AF_STDIN_CLOSED' });
    const inputs = [];
    for await (const { type, body } of client.events()) if (type === 'ExecInput') inputs.push(body);
    expect(inputs).toMatchObject([
      { seq: 1, bytes: 4, eof: false },
      { seq: 2, bytes: 0, eof: true },
    ]);
  });

  it('report busy when their input is full, while others continue', async () => {
    const client = h.client();
    const request = shell('sleep 100', { stdinMode: 'Open' });
    const running = client.run(request);
    await begun(request);
    const refused = (async () => {
      for (let seq = 1; seq < 20; seq++) await client.writeStdin(request.execId, seq, Buffer.alloc(execBounds.stdinBytes, 120));
    })();
    await expect(refused).rejects.toMatchObject({ code: 'AF_STDIN_BUSY' });
    const look = await client.run(shell('echo here', { access: 'Read' }));
    expect(look.stdout).toBe('here\n');
    await client.cancel(request.execId);
    expect((await running).end.killed).toBe('Cancelled');
  });

  it('have a terminal of the size that is asked for, which hears ^C', async () => {
    const client = h.client();
    const request = shell("trap 'echo INT; exit 5' INT; stty size; while :; do sleep 0.02; done", { pty: { rows: 30, columns: 90 } });
    const running = client.run(request);
    await hears(request, '30 90');
    await client.resizeTerminal(request.execId, 31, 91);
    await client.writeStdin(request.execId, 1, '\u0003');
    const { stdout, stderr, end } = await running;
    expect({ stderr, code: end.exitCode }).toEqual({ stderr: '', code: 5 });
    expect(stdout).toContain('INT\r\n');
  });

  it('can be waited for without an end to them', async () => {
    const client = h.client();
    const request = shell('sleep 0.3; exit 3');
    const running = client.run(request);
    await begun(request);
    expect(await client.waitFor(request.execId, 0)).toBeNull();
    expect(await client.waitFor(request.execId, 30)).toMatchObject({ type: 'end', exitCode: 3 });
    expect(await client.waitFor(request.execId)).toMatchObject({ exitCode: 3 });
    await running;
    await expect(client.waitFor(ulid())).rejects.toMatchObject({ code: 'AF_EXEC_UNKNOWN' });
  });

  it('read beside each other and beside one that writes, and write nothing', async () => {
    const client = h.client();
    await client.writeFile(join(h.workspace, 'f'), 'text');
    const writer = shell('sleep 100');
    const readers = Array.from({ length: 3 }, () => shell('sleep 100', { access: 'Read' }));
    const all = [writer, ...readers].map((request) => client.run(request));
    for (const request of [writer, ...readers]) await begun(request);
    const touched = await client.run(shell('cat f; echo no > f', { access: 'Read' }));
    expect(touched.stdout).toBe('text');
    expect(touched.end.exitCode).not.toBe(0);
    await expect(client.run(shell('true'))).rejects.toMatchObject({ code: 'AF_BUSY' });
    await expect(client.takeSnapshot()).rejects.toMatchObject({ code: 'AF_BUSY' });
    await expect(client.writeFile(join(h.workspace, 'f'), 'no')).rejects.toMatchObject({ code: 'AF_BUSY' });
    expect((await client.readFile(join(h.workspace, 'f'))).toString()).toBe('text');
    expect((await client.readLines(join(h.workspace, 'f'))).text).toBe('text');
    await client.cancel(writer.execId);
    expect((await all[0])?.end.killed).toBe('Cancelled');
    const { id } = await client.takeSnapshot();
    await client.writeFile(join(h.workspace, 'f'), 'other');
    expect((await client.diff(id)).entries).toMatchObject([{ op: 'M' }]);
    expect(await client.restore(id)).toMatchObject({ verified: true });
    for (const { execId } of readers) expect(await client.waitFor(execId, 0)).toBeNull();
    for (const { execId } of readers) await client.cancel(execId);
    for (const { end } of await Promise.all(all)) expect(end.killed).toBe('Cancelled');
  });

  it('are not read around by a link that is put in the way of a reader', async () => {
    const client = h.client();
    await client.writeFile(join(h.workspace, 'd/f'), 'ours');
    await symlink('/etc', join(h.workspace, 'out'));
    const request = shell('while :; do ln -sfn /etc x; rm -f x; mkdir x; echo ours > x/hostname; rm -rf x; done');
    const running = client.run(request);
    await begun(request);
    for (let n = 0; n < 300; n++) {
      const content = await client.readFile(join(h.workspace, 'x/hostname')).catch(() => null);
      expect([null, 'ours\n', '']).toContain(content === null ? null : content.toString());
    }
    await client.cancel(request.execId);
    await running;
  });
});
