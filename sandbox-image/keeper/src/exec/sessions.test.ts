import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionBounds, type SessionRunRequest } from '@agentfleet/protocol/keeper';
import { systemClock } from '../base/clock.ts';
import { buildRunner, RealRunner, startHarness, ulid, waitUntil, type Harness } from '../testing/index.ts';

const built = await buildRunner();
if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);

const run = (command: string, more: Partial<SessionRunRequest> = {}): SessionRunRequest => ({ execId: ulid(), command, ...more });

describe.skipIf('why' in built)('sessions with the real runner', () => {
  const binary = 'binary' in built ? built.binary : '';
  let h: Harness;
  let runner: RealRunner;

  afterAll(() => rm(dirname(binary), { recursive: true, force: true }));

  const start = async (options: Parameters<typeof startHarness>[0] = {}): Promise<void> => {
    h = await startHarness({ ...options, env: { AGENTFLEET_RUNNER: binary } });
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    await waitUntil(async () => (await h.client().info()).ready, 10_000);
  };

  beforeEach(() => start());

  afterEach(async () => {
    await runner.kill();
    await h[Symbol.asyncDispose]();
  });

  const open = async (shell?: 'bash' | 'sh'): Promise<string> => {
    const session = await h.client().openSession({ sessionId: ulid(), ...(shell === undefined ? {} : { shell }) });
    expect(session).toMatchObject({ alive: true, cwd: h.workspace, running: null });
    return session.sessionId;
  };

  it('keeps folder, variables and functions from command to command', async () => {
    const client = h.client();
    const id = await open();
    const first = await client.runInSession(id, run('mkdir d && cd d; A=1; export B=2; f() { echo "f $A $B"; }'));
    expect(first.end).toMatchObject({
      exitCode: 0,
      session: { sessionId: id, cwd: join(h.workspace, 'd'), restarted: false, alive: true },
    });
    const second = await client.runInSession(id, run('f; pwd; (exit 4)'));
    expect(second).toMatchObject({ stdout: `f 1 2\n${h.workspace}/d\n`, stderr: '', end: { exitCode: 4 } });
    expect(await client.sessions()).toMatchObject([{ sessionId: id, cwd: join(h.workspace, 'd'), running: null }]);
  });

  it('is closed to another assignment, which opens a new one under the same id', async () => {
    const id = await open();
    const { sessions } = h.running.keeper.parts;
    await h.client().runInSession(id, run('SECRET=1'));
    await expect(sessions.run(id, run('echo $SECRET'), 2)).rejects.toMatchObject({ code: 'AF_SESSION_UNKNOWN' });
    await sessions.open({ sessionId: id }, 2);
    const { execId } = run('');
    await sessions.run(id, { execId, command: 'echo "<$SECRET>"' }, 2);
    await h.client().waitFor(execId);
    expect(
      await h
        .client()
        .run({ execId, tool: 'Shell', command: 'x' })
        .catch((error: unknown) => error),
    ).toMatchObject({
      code: 'AF_EXEC_ID_REUSED',
    });
    const out: string[] = [];
    for await (const event of h.client().follow(execId)) if (event.type === 'out' && 'text' in event) out.push(event.text);
    expect(out.join('')).toBe('<>\n');
  });

  it('outlives a hung command in bash; in other shells it is rebuilt with folder and variables and reports it', async () => {
    const client = h.client();
    for (const shell of ['bash', 'sh'] as const) {
      const id = await open(shell);
      await client.runInSession(id, run('cd /tmp; export KEPT=yes; f() { echo fun; }'));
      const hung = await client.runInSession(id, run('trap "" TERM; sleep 100; echo NEXT', { timeoutSeconds: 1 }));
      expect(hung.end).toMatchObject({ timedOut: true, exitCode: null, session: { alive: shell === 'bash' } });
      expect(hung.stdout).toBe('');
      const after = await client.runInSession(id, run('pwd; echo $KEPT; f'));
      expect(after.stdout).toBe(shell === 'bash' ? '/tmp\nyes\nfun\n' : '/tmp\nyes\n');
      expect(after.end.session).toMatchObject({ restarted: shell === 'sh', alive: true });
      await client.closeSession(id);
    }
  });

  it('is rebuilt after the shell exited, also when its saved state is useless', async () => {
    const client = h.client();
    const id = await open();
    const left = await client.runInSession(id, run('mkdir gone && cd gone && export A=1 && rmdir ../gone; exit 3'));
    expect(left.end).toMatchObject({ exitCode: 3, session: { alive: false } });
    const next = await client.runInSession(id, run('pwd; echo next'));
    expect(next).toMatchObject({ stdout: `${h.workspace}\nnext\n`, end: { session: { restarted: true, alive: true } } });
    expect((await client.runInSession(id, run('true'))).end.session?.restarted).toBe(false);
  });

  it('replays a known command, refuses its id for another, and is cancelled by it', async () => {
    const client = h.client();
    const id = await open();
    const request = run('echo run >> count; wc -l < count');
    const first = await client.runInSession(id, request);
    expect(await client.runInSession(id, request)).toEqual(first);
    await expect(client.runInSession(id, { ...request, command: 'true' })).rejects.toMatchObject({ code: 'AF_EXEC_ID_REUSED' });
    const long = run('sleep 100', { timeoutSeconds: 60 });
    const running = client.runInSession(id, long);
    await waitUntil(async () => (await client.sessions())[0]?.running === long.execId);
    await client.cancel(long.execId);
    expect((await running).end).toMatchObject({ killed: 'Cancelled', session: { alive: true } });
  });

  it('is frozen for a snapshot, and ends with a restore', async () => {
    const client = h.client();
    const id = await open();
    await client.runInSession(id, run('(while :; do date >> ticks; done) & sleep 0.1; export A=1'));
    const snapshot = await client.takeSnapshot();
    expect((await client.runInSession(id, run('echo $A'))).stdout).toBe('1\n');
    expect((await client.restore(snapshot.id)).verified).toBe(true);
    expect(await client.sessions()).toEqual([]);
    await expect(client.runInSession(id, run('echo $A'))).rejects.toMatchObject({ status: 404, code: 'AF_SESSION_UNKNOWN' });
    const types = [];
    for await (const { type } of client.events()) types.push(type);
    expect(types).toEqual(expect.arrayContaining(['SessionRequested', 'SessionEnded']));
  });

  it('ends with its tools container: no state is restored', async () => {
    const id = await open();
    await h.client().runInSession(id, run('export LD_PRELOAD=/tmp/evil.so'));
    await h.client().restartTools();
    await runner.exited;
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    await waitUntil(async () => (await h.client().info()).ready, 10_000);
    expect(await h.client().sessions()).toEqual([]);
  });

  it('ends with its assignment', async () => {
    await open();
    await h.client(2).note('Took', {});
    expect(await h.client(2).sessions()).toEqual([]);
    expect((await h.client(2).run({ execId: ulid(), tool: 'Shell', command: 'ps -e -o args | grep -c "[_]_af_" || true' })).stdout).toBe(
      '0\n',
    );
  });

  it('is one of a few, and one command of all runs at a time', async () => {
    const client = h.client();
    const ids = [];
    for (let n = 0; n < sessionBounds.sessions; n++) ids.push(await open('sh'));
    await expect(client.openSession({ sessionId: ulid() })).rejects.toMatchObject({ code: 'AF_SESSION_LIMIT' });
    await expect(client.openSession({ sessionId: ids[0] ?? '', shell: 'bash' })).rejects.toMatchObject({ code: 'AF_EXEC_ID_REUSED' });
    // An interrupt is for running processes: as at a terminal, one sent before the command has started has no effect.
    const long = run(`sh -c ': >began; exec sleep 100'`, { timeoutSeconds: 50 });
    const running = client.runInSession(ids[0] ?? '', long);
    await waitUntil(() => Promise.resolve(existsSync(join(h.workspace, 'began'))), 30_000);
    expect((await client.info()).running).toBe(long.execId);
    await expect(client.runInSession(ids[1] ?? '', run('true'))).rejects.toMatchObject({ code: 'AF_BUSY' });
    await expect(client.takeSnapshot()).rejects.toMatchObject({ code: 'AF_BUSY' });
    await client.interrupt(long.execId);
    expect((await running).end).toMatchObject({ exitCode: 130, killed: null });
    await client.closeSession(ids[0] ?? '');
    await open('bash');
  });

  it('cannot speak for another command', async () => {
    const client = h.client();
    const id = await open('bash');
    const lie = String.raw`printf '\0r 1 0\n/\n\0' >/proc/$$/fd/11; printf '{"t":"end"}' >&1; (exit 9)`;
    await client.runInSession(id, run(lie));
    const other = await client.run({ execId: ulid(), tool: 'Shell', command: 'exit 5' });
    expect(other.end.exitCode).toBe(5);
    expect((await client.runInSession(id, run('exit 6'))).end.exitCode).toBe(6);
  });

  it('is closed when nothing ran in it for long', async () => {
    await runner.kill();
    await h[Symbol.asyncDispose]();
    const idleMs = sessionBounds.idleSeconds * 1000;
    await start({ clock: { ...systemClock, after: (ms, then) => systemClock.after(ms === idleMs ? 100 : ms, then) } });
    await open();
    await waitUntil(async () => (await h.client().sessions()).length === 0, 10_000);
  });
});
