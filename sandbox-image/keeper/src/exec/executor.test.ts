import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditType, ExecEvent } from '@agentfleet/protocol/keeper';
import { afterEach, describe, expect, it } from 'vitest';
import {
  acceleratedClock,
  echo,
  echoing,
  killable,
  startHarness,
  ulid,
  waitUntil,
  type Harness,
  type HarnessOptions,
} from '../testing/index.ts';
import { systemClock } from '../base/clock.ts';
import { UnfinishedExecs } from './command.ts';

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

async function collectEvents(events: AsyncIterable<ExecEvent>): Promise<ExecEvent[]> {
  const all: ExecEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('a command', () => {
  it('streams start, output and end with sequence numbers from 1', async () => {
    const h = await harness();
    await h.runner(echoing);
    const events = await collectEvents(h.client().exec(shell('hello')));
    expect(events.map((event) => event.type)).toEqual(['start', 'out', 'end']);
    expect(events.map((event) => ('seq' in event ? event.seq : null))).toEqual([1, 2, 3]);
    expect(events[1]).toMatchObject({ stream: 'stdout', text: 'hello\n' });
    expect(events[2]).toMatchObject({ exitCode: 0, killed: null });
  });

  it('gets exactly the base environment, the roots as writable, and the defaults of its tool', async () => {
    const h = await harness();
    const runner = await h.runner(echoing);
    await h.client().run({ execId: ulid(), tool: 'ExecCode', argv: ['id'], env: { A: 'b', CI: '0' }, stdin: 'in' });
    const [frame] = runner.frames.filter(({ header }) => header.t === 'exec');
    expect(frame?.header).toMatchObject({
      argv: ['id'],
      cwd: h.workspace,
      timeoutMs: 15_000,
      graceMs: 2000,
      network: 'Loopback',
      outputLimitBytes: 16_777_216,
    });
    expect(frame?.header['writable']).toEqual([h.workspace, join(h.dir, 'home')]);
    expect(frame?.header['env']).toMatchObject({
      HOME: join(h.dir, 'home'),
      MAVEN_OPTS: `-Duser.home=${join(h.dir, 'home')}`,
      GRADLE_USER_HOME: join(h.dir, 'home', '.gradle'),
      LSAN_OPTIONS: 'detect_leaks=0',
      CI: '0',
      A: 'b',
      PAGER: 'cat',
      GIT_TERMINAL_PROMPT: '0',
      TERM: 'dumb',
    });
    expect(frame?.body.toString()).toBe('in');
  });

  it('is in the log before the runner hears of it, and its end after', async () => {
    const h = await harness();
    let atSend = '';
    await h.runner({
      onFrame: ({ header }, runner) => {
        if (header.t !== 'exec') return;
        void readFile(join(h.store, 'events.log'), 'utf8').then((text) => {
          atSend = text;
          echo(runner, String(header['id']), ['x']);
        });
      },
    });
    const request = { execId: ulid(), tool: 'Shell', command: 'secret', env: { TOKEN: 'hidden-value' }, stdin: 'hidden-input' } as const;
    await h.client().run(request);
    expect(atSend).toContain('"ExecRequested"');
    expect(atSend).toContain(request.execId);
    expect(atSend).toContain('"envNames":["TOKEN"]');
    expect(atSend).not.toContain('hidden-');
    await h.running.keeper.parts.log.flush();
    const log = await readFile(join(h.store, 'events.log'), 'utf8');
    expect(log).toContain('"ExecEnded"');
    expect(await h.client().audit()).toMatchObject({ ok: true, broken: null });
  });

  it('is replayed, not run again, when its id is repeated', async () => {
    const h = await harness();
    const runner = await h.runner(echoing);
    const request = shell('once');
    const first = await collectEvents(h.client().exec(request));
    const second = await collectEvents(h.client().exec(request));
    expect(second).toEqual(first);
    expect(await collectEvents(h.client().follow(request.execId, 3))).toEqual(first.slice(2));
    expect(runner.frames.filter(({ header }) => header.t === 'exec')).toHaveLength(1);
    await expect(h.client().run({ ...request, command: 'other' })).rejects.toMatchObject({ code: 'AF_EXEC_ID_REUSED' });
  });

  it('runs once when the same request arrives twice at the same moment', async () => {
    const h = await harness();
    const runner = await h.runner(echoing);
    const request = shell('once');
    const client = h.client();
    const both = await Promise.all([collectEvents(client.exec(request)), collectEvents(client.exec(request))]);
    expect(both[0]).toEqual(both[1]);
    expect(runner.frames.filter(({ header }) => header.t === 'exec')).toHaveLength(1);
  });

  it('keeps others out while it runs, and names itself', async () => {
    const h = await harness();
    const runner = await h.runner(killable);
    const client = h.client();
    const request = shell('sleep');
    const running = client.run(request);
    await waitUntil(() => runner.frames.some(({ header }) => header.t === 'exec'));
    const busy = { code: 'AF_BUSY', message: expect.stringContaining(request.execId) as string };
    await expect(client.run(shell('other'))).rejects.toMatchObject(busy);
    await expect(client.takeSnapshot()).rejects.toMatchObject(busy);
    await expect(client.writeFile(join(h.workspace, 'f'), 'x')).rejects.toMatchObject(busy);
    // Reads of single files go on.
    await expect(client.readFile(join(h.workspace, 'f'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await expect(client.listFiles(h.workspace)).rejects.toMatchObject(busy);
    await expect(client.restartTools()).rejects.toMatchObject(busy);
    expect((await client.info()).running).toBe(request.execId);
    await client.cancel(request.execId);
    expect((await running).end).toMatchObject({ killed: 'Cancelled', signal: 'SIGTERM' });
    await waitUntil(async () => (await client.info()).running === null);
  });

  it('continues when the caller disconnects, and can be followed again', async () => {
    const h = await harness();
    const runner = await h.runner({
      onFrame: ({ header }, r) => header.t === 'exec' && r.send({ t: 'start', id: String(header['id']), pid: 1 }),
    });
    const request = shell('long');
    for await (const event of h.client().exec(request)) {
      expect(event.type).toBe('start');
      break;
    }
    runner.out(request.execId, 'stderr', 'late');
    runner.end(request.execId);
    const events = await collectEvents(h.client().follow(request.execId));
    expect(events.map((event) => event.type)).toEqual(['start', 'out', 'end']);
  });

  it('that is silent sends a keepalive now and then, which is not in the journal', async () => {
    const h = await harness({ clock: acceleratedClock(100) });
    const runner = await h.runner({
      onFrame: ({ header }, r) => header.t === 'exec' && r.send({ t: 'start', id: String(header['id']), pid: 1 }),
    });
    const request = { ...shell('quiet'), timeoutSeconds: 3600 };
    let keepalives = 0;
    for await (const event of h.client().exec(request)) {
      if (event.type === 'keepalive' && ++keepalives === 2) runner.end(request.execId);
    }
    expect(keepalives).toBeGreaterThanOrEqual(2);
    expect((await collectEvents(h.client().follow(request.execId))).map((event) => event.type)).toEqual(['start', 'end']);
  });

  it('of an unknown id is not found', async () => {
    const h = await harness();
    await expect(collectEvents(h.client().follow(ulid()))).rejects.toMatchObject({ code: 'AF_EXEC_UNKNOWN' });
    await expect(h.client().cancel('../../etc/passwd')).rejects.toMatchObject({ status: 404 });
  });

  it('ends as interrupted when the tools container is gone, and the next one may run in a new one', async () => {
    let back = 0;
    const h = await harness({ clock: { ...systemClock, now: () => Date.now() - (back += 1000) } });
    const runner = await h.runner({ onFrame: () => undefined });
    const request = shell('long');
    const running = h.client().run(request);
    await waitUntil(() => runner.frames.length > 0);
    runner.drop();
    await h.runner(echoing);
    const { end } = await running;
    expect(end).toMatchObject({ exitCode: null, interrupted: 'ToolsLost' });
    expect(end.durationMs, 'though the wall clock was set back').toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(end.durationMs)).toBe(true);
    expect((await h.client().run(shell('again'))).stdout).toBe('again\n');
  });

  it('that a restarted keeper finds open ends as interrupted, and its id replays that', async () => {
    const h = await harness({ clock: acceleratedClock(20) });
    const runner = await h.runner({ onFrame: () => undefined });
    const request = shell('long');
    const running = h
      .client()
      .run(request)
      .catch(() => undefined);
    await waitUntil(() => runner.frames.length > 0);
    // The store of a killed keeper: a copy of the current one.
    const log = await readFile(join(h.store, 'events.log'));
    const journal = await readFile(join(h.store, 'execs', `${request.execId}.ndjson`));
    runner.drop();
    await h.stop();
    await running;
    await writeFile(join(h.store, 'events.log'), log);
    await writeFile(join(h.store, 'execs', `${request.execId}.ndjson`), Buffer.concat([journal, Buffer.from('{"type":"out","to')]));
    await h.start();
    const events = await collectEvents(h.client().follow(request.execId));
    expect(events.at(-1)).toMatchObject({ type: 'end', interrupted: 'KeeperRestarted', exitCode: null });
    expect(await collectEvents(h.client().exec(request))).toEqual(events);
    expect(await h.client().audit()).toMatchObject({ ok: true });
  });

  it('whose intent is recorded is never run, even when its journal is lost', async () => {
    const h = await harness({ clock: acceleratedClock(20) });
    const runner = await h.runner({ onFrame: () => undefined });
    const request = shell('long');
    const running = h
      .client()
      .run(request)
      .catch(() => undefined);
    await waitUntil(() => runner.frames.length > 0);
    const log = await readFile(join(h.store, 'events.log'));
    runner.drop();
    await h.stop();
    await running;
    await writeFile(join(h.store, 'events.log'), log);
    await writeFile(join(h.store, 'execs', `${request.execId}.ndjson`), '');
    await h.start();
    const events = await collectEvents(h.client().exec(request));
    expect(events).toMatchObject([{ type: 'end', seq: 1, interrupted: 'KeeperRestarted' }]);
  });

  it.each([
    ['is gone', null],
    ['is empty', 0],
    ['lacks its end', -20],
  ])('whose end outlived a loss of power is not run again when its journal %s', async (_, kept) => {
    const h = await harness();
    const runner = await h.runner(echoing);
    const [first, second] = [shell('first'), shell('second')];
    for (const request of [first, second]) await h.client().run(request);
    const whole = await collectEvents(h.client().follow(first.execId));
    runner.drop();
    await h.stop();
    const file = join(h.store, 'execs', `${second.execId}.ndjson`);
    const journal = await readFile(file);
    if (kept === null) await rm(file);
    else await writeFile(file, journal.subarray(0, kept));
    for (let restarts = 0; restarts < 2; restarts++) {
      await h.start();
      const again = await h.runner(echoing);
      const events = await collectEvents(h.client().exec(second));
      expect(events.at(-1)).toMatchObject({ type: 'end', interrupted: 'KeeperRestarted', exitCode: null });
      expect(await collectEvents(h.client().exec(first))).toEqual(whole);
      expect(again.frames.filter(({ header }) => header.t === 'exec')).toEqual([]);
      again.drop();
      await h.stop();
    }
    const ends = (await readFile(join(h.store, 'events.log'), 'utf8')).match(/"ExecEnded"/g);
    expect(ends).toHaveLength(3);
    await h.start();
  });

  it.each([
    ['whose journal is as it was left', ['ExecEnded', { journalBytes: 9 }], []],
    ['whose journal is shorter', ['ExecEnded', { journalBytes: 10 }], ['x']],
    ['whose journal was cut', ['ExecEnded', { journalBytes: 10 }, 'OutputCut', {}], []],
    ['that never had one', ['ExecEnded', { started: false }], []],
    ['that ran in another sandbox', ['ExecEnded', { journalBytes: 10 }, 'Adopted', {}], []],
  ] as const)('%s is to be ended at a start, or not', (_, after, open) => {
    const unfinished = new UnfinishedExecs(new Map([['x', 9]]));
    const add = (type: AuditType, body: object): void =>
      unfinished.add({ seq: 1, at: '', epoch: 1, prev: '', hash: '', type, body: { execId: 'x', requestDigest: '', ...body } });
    add('ExecRequested', {});
    for (let n = 0; n < after.length; n += 2) add(after[n] as AuditType, after[n + 1] as object);
    expect(unfinished.all.map(({ execId }) => execId)).toEqual(open);
  });

  it('that the runner cannot start ends with the reason', async () => {
    const h = await harness();
    await h.runner({
      onFrame: ({ header }, r) => r.end(String(header['id']), { exitCode: 127, error: { code: 'ENOENT', message: 'no such file' } }),
    });
    const { end } = await h.client().run({ execId: ulid(), tool: 'ExecCode', argv: ['nothing'] });
    expect(end).toMatchObject({ exitCode: 127, error: { code: 'ENOENT' } });
  });

  it('whose shell cannot be started is not sent', async () => {
    const h = await harness();
    let shells = 0;
    const runner = await h.runner({
      onFrame: ({ header }, fake) => {
        const id = String(header['id']);
        if (header.t === 'session' && ++shells === 1) fake.send({ t: 'opened', id, shell: '/bin/bash' });
        else if (header.t === 'session') fake.send({ t: 'closed', id, error: { code: 'ENOENT', message: 'no such file' } });
        else if (header.t === 'run') {
          fake.end(id, { session: { alive: false, cwd: '' } });
          fake.send({ t: 'closed', id: header['session'], error: null });
        }
      },
    });
    const { sessionId } = await h.client().openSession({ sessionId: ulid() });
    await h.client().runInSession(sessionId, { execId: ulid(), command: 'exit' });
    const { end } = await h.client().runInSession(sessionId, { execId: ulid(), command: 'true' });
    expect(end).toMatchObject({ exitCode: 126, error: { code: 'AF_SESSION_SHELL' } });
    expect(runner.frames.filter(({ header }) => header.t === 'run')).toHaveLength(1);
  });

  it('that no runner ends in time costs the tools container its life', async () => {
    const h = await harness({ clock: acceleratedClock(20) });
    const runner = await h.runner({ onFrame: () => undefined });
    const request = { ...shell('hangs'), timeoutSeconds: 1 };
    const running = h.client().run(request);
    await runner.closed;
    expect(runner.frames.at(-1)?.header).toMatchObject({ t: 'exit' });
    expect((await running).end).toMatchObject({ interrupted: 'ToolsLost' });
    // The same instance may dial again before it is dead: it is refused.
    await expect(h.runner({ instance: runner.instance })).rejects.toThrow('closed');
  });

  it('with more output than allowed keeps the first 16 MiB and counts the rest', async () => {
    const h = await harness();
    const chunk = Buffer.alloc(32 * 1024, 'x');
    await h.runner({
      onFrame: ({ header }, r) => {
        const id = String(header['id']);
        for (let sent = 0; sent < 520; sent++) r.out(id, 'stdout', chunk);
        r.end(id, { bytes: { stdout: 520 * chunk.length, stderr: 0 } });
      },
    });
    const { stdout, end } = await h.client().run(shell('yes'));
    expect(stdout.length).toBe(16 * 1024 * 1024);
    expect(end.dropped.stdout).toBe(8 * chunk.length);
  });

  it('does not fit when its arguments are over the limit of the link', async () => {
    const h = await harness();
    await h.runner(echoing);
    const argv = Array.from({ length: 12 }, () => 'x'.repeat(100_000));
    await expect(h.client().run({ execId: ulid(), tool: 'ExecCode', argv })).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
  });
});
