import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { createLog } from '@agentfleet/protocol/log';
import { acceleratedClock, FakeRunner, waitUntil } from '../testing/index.ts';
import { encodeFrame } from './frame.ts';
import type { CommandMessage, SessionMessage } from './messages.ts';
import { LinkServer } from './server.ts';

const key = 'a-key-of-the-link-that-is-long-enough';
let dir: string;
let path: string;
let link: LinkServer;
let events: string[];
let received: (CommandMessage | SessionMessage)[];
let slow: Promise<void> | undefined;
let logs: string[];

async function listen(clock = systemClock): Promise<void> {
  link = await LinkServer.listen({
    path,
    key,
    clock,
    random: randomBytes,
    logger: createLog(
      'warn',
      (line) => logs.push(line),
      () => 0,
    ),
  });
  link.subscribe({
    connected: (instance) => events.push(`connected ${instance}`),
    lost: (instance, why) => events.push(`lost ${instance} ${why}`),
    message: (message) => {
      received.push(message);
      return slow;
    },
  });
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'link-'));
  path = join(dir, 'keeper.sock');
  events = [];
  received = [];
  slow = undefined;
  logs = [];
  await listen();
});

afterEach(async () => {
  await link.close();
  await rm(dir, { recursive: true, force: true });
});

const closed = async (socket: Socket): Promise<void> => {
  socket.resume();
  socket.on('error', () => undefined);
  if (!socket.closed) await once(socket, 'close');
};

describe('the link', () => {
  it('accepts a peer with the key, and only its own user may open the socket', async () => {
    const runner = await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    expect(link.state).toMatchObject({ instance: runner.instance, connections: 1, info: { landlockABI: 7 } });
    expect(events).toEqual([`connected ${runner.instance}`]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('closes on a peer with another key, without a welcome', async () => {
    const runner = new FakeRunner({ path, key: `${key}!` });
    await expect(runner.ready).rejects.toThrow('closed');
    expect(link.state.connected).toBe(false);
    expect(events).toEqual([]);
  });

  it('closes on a peer that skips the handshake, replays a hello, or sends a large frame before it', async () => {
    const probes = [
      encodeFrame({ t: 'info' }),
      encodeFrame({ t: 'hello', v: 1, nonce: randomBytes(32).toString('base64'), instance: 'a'.repeat(32), mac: 'b'.repeat(64) }),
      encodeFrame({ t: 'hello', v: 2 }),
      encodeFrame({ t: 'hello', pad: 'x'.repeat(5000) }),
      encodeFrame({ t: 'hello' }, Buffer.alloc(1)),
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    ];
    for (const probe of probes) {
      const socket = connect(path);
      socket.write(probe);
      await closed(socket);
    }
    expect(link.state).toMatchObject({ connected: false, connections: 0 });
  });

  it('logs many refusals in one line, because a flood would rotate the rest of the log away', async () => {
    for (let n = 0; n < 50; n++) {
      const socket = connect(path);
      socket.write(encodeFrame({ t: 'info' }));
      await closed(socket);
    }
    expect(logs.filter((line) => line.includes('refused'))).toHaveLength(1);
  });

  it('closes on a peer that sends nothing', async () => {
    await link.close();
    await listen(acceleratedClock(30));
    const started = performance.now();
    await closed(connect(path));
    expect(performance.now() - started).toBeLessThan(2500);
  });

  it('keeps at most 8 waiting without a handshake, and the runner still gets through', async () => {
    const mute = Array.from({ length: 20 }, () =>
      connect(path)
        .on('error', () => undefined)
        .resume(),
    );
    await waitUntil(() => mute.filter((socket) => socket.closed).length === 12);
    await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    for (const socket of mute) socket.destroy();
  });

  it('lets a new container replace the old one, but not the same instance twice', async () => {
    const first = await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    await expect(new FakeRunner({ path, key, instance: first.instance }).ready).rejects.toThrow('closed');
    expect(link.state.instance).toBe(first.instance);
    const second = await FakeRunner.connected({ path, key });
    await first.closed;
    await waitUntil(() => link.state.connected && link.state.instance === second.instance);
    expect(events.map((event) => event.split(' ')[0])).toEqual(['connected', 'lost', 'connected']);
  });

  it('reports the loss, and takes the same instance again after it', async () => {
    const first = await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    first.drop();
    await waitUntil(() => !link.state.connected);
    await FakeRunner.connected({ path, key, instance: first.instance });
    await waitUntil(() => link.state.connected);
    expect(link.state.connections).toBe(2);
  });

  it('takes no link from an instance that was ordered to exit', async () => {
    const runner = await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    link.retire(0, 'asked');
    await runner.closed;
    expect(runner.frames.at(-1)?.header).toEqual({ t: 'exit', code: 0 });
    await expect(new FakeRunner({ path, key, instance: runner.instance }).ready).rejects.toThrow('closed');
  });

  it('stops reading while its consumer is slow', async () => {
    const runner = await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    const gate = Promise.withResolvers<void>();
    slow = gate.promise;
    for (let sent = 0; sent < 100; sent++) runner.out('x', 'stdout', Buffer.alloc(32 * 1024));
    await systemClock.sleep(50);
    expect(received).toHaveLength(1);
    slow = undefined;
    gate.resolve();
    await waitUntil(() => received.length === 100);
  });

  it.each([
    ['keeps a runner that answers while the wall clock jumps', true],
    ['closes on a runner that is silent while the wall clock stands', false],
  ])('%s', async (_, answers) => {
    await link.close();
    let [wall, passed, pings] = [0, 0, 0];
    await listen({
      ...systemClock,
      now: () => (wall += answers ? 3_600_000 : 0),
      monotonic: () => passed,
      // Heartbeats alone are fast, and time passes by them.
      after: (ms, run) => systemClock.after(ms === 10_000 ? 50 : ms, () => ((passed += ms === 10_000 ? ms : 0), run())),
    });
    const runner = await FakeRunner.connected({
      path,
      key,
      onFrame: ({ header }, peer) => {
        if (header.t !== 'ping') return;
        pings += 1;
        if (answers) peer.send({ t: 'pong', id: header['id'] });
      },
    });
    await waitUntil(() => link.state.connected);
    if (answers) {
      await waitUntil(() => pings > 5);
      expect(link.state.connections).toBe(1);
      expect(link.state.connected).toBe(true);
    } else {
      await runner.closed;
      expect(events.at(-1)).toContain('did not answer for 30 s');
      expect(pings).toBe(3);
    }
  });

  it('closes on a frame over the limit, and ignores kinds it does not know', async () => {
    const runner = await FakeRunner.connected({ path, key });
    await waitUntil(() => link.state.connected);
    runner.send({ t: 'later' });
    runner.send({ t: 'error', code: 'EEXIST', message: 'x' });
    await waitUntil(() => received.length === 1);
    runner.sendRaw(Buffer.from([0x7f, 0, 0, 0, 0, 0, 0, 0]));
    await runner.closed;
    expect(events.at(-1)).toContain('over the limit');
  });
});
