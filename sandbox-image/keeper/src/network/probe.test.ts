import type { NetworkInfo } from '@agentfleet/protocol/keeper';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { Clock } from '../base/clock.ts';
import type { Target } from '../base/config.ts';
import { systemConnector, NetworkProbe } from './probe.ts';

const targets: Target[] = [
  { name: 'apiserver', host: '10.0.0.1', port: 443 },
  { name: 'kubelet', host: '192.0.2.7', port: 10_250 },
];

/** Time that passes only by waiting: a minute of probing is one turn of the event loop. The wall clock is set back and forth meanwhile. */
function simulated(end: number) {
  let now = 0;
  let wall = 0;
  const stop = new AbortController();
  const clock: Clock = {
    now: () => (wall = wall === 0 ? 3_600_000 : 0),
    monotonic: () => now,
    sleep: async (ms) => {
      now += ms;
      if (now > end) stop.abort();
      await Promise.resolve();
    },
    after: () => () => undefined,
  };
  return { clock, signal: stop.signal, time: () => now };
}

async function probe(open: (target: Target, now: number) => boolean, end: number, probed = targets) {
  const world = simulated(end);
  const changes: [number, NetworkInfo['state']][] = [];
  const it = new NetworkProbe({
    targets: probed,
    clock: world.clock,
    connect: (target) => Promise.resolve(open(target, world.time()) ? null : 'ECONNREFUSED'),
    onChange: (info) => changes.push([world.time(), info.state]),
  });
  await it.run(world.signal);
  return { changes, it };
}

describe('the network probe', () => {
  it('calls the network enforced when nothing is reachable in two rounds 250 ms apart', async () => {
    const { changes, it } = await probe(() => false, 1000);
    expect(changes).toEqual([[250, 'Enforced']]);
    expect(it.reason).toBeNull();
    expect(it.info.targets).toMatchObject([
      { name: 'apiserver', address: '10.0.0.1:443', reachable: false, error: 'ECONNREFUSED' },
      { name: 'kubelet' },
    ]);
  });

  it('waits for a late enforcer, and never reports the network as open meanwhile', async () => {
    const { changes } = await probe((_target, now) => now < 3000, 10_000);
    expect(changes.map(([, state]) => state)).toEqual(['Enforced']);
    expect(changes[0]?.[0]).toBeLessThan(6000);
  });

  it('is not fooled by one closed round', async () => {
    let round = 0;
    const { changes } = await probe((target) => target.name === 'kubelet' && ++round % 2 === 0, 60_000);
    expect(changes.map(([, state]) => state)).toEqual(['NotEnforced']);
  });

  it('does not wait for the time limit of the first round before the second', async () => {
    const pending: ((error: string) => void)[] = [];
    const { clock, signal } = simulated(1000);
    const connect = (): Promise<string> => new Promise((resolve) => pending.push(resolve));
    const it = new NetworkProbe({ targets, clock, connect, onChange: () => undefined });
    void it.run(signal);
    await vi.waitFor(() => expect(pending).toHaveLength(4));
    expect(it.info.state).toBe('Probing');
    for (const drop of pending) drop('ETIMEDOUT');
    await vi.waitFor(() => expect(it.info.state).toBe('Enforced'));
  });

  it('reports it as open after 20 s with the reachable targets, and keeps trying', async () => {
    const { changes, it } = await probe((target) => target.name === 'kubelet', 40_000);
    expect(changes.map(([, state]) => state)).toEqual(['NotEnforced']);
    expect(changes[0]?.[0]).toBeGreaterThanOrEqual(20_000);
    expect(changes[0]?.[0]).toBeLessThan(23_000);
    expect(it.reason).toContain('kubelet (192.0.2.7:10250)');
    const late = await probe((_target, now) => now < 45_000, 60_000);
    expect(late.changes.map(([, state]) => state)).toEqual(['NotEnforced', 'Enforced']);
  });

  it('notices within a minute that an enforced network has become open', async () => {
    const { changes } = await probe((_target, now) => now > 100_000, 200_000);
    expect(changes.map(([, state]) => state)).toEqual(['Enforced', 'NotEnforced']);
    expect(changes[1]?.[0]).toBeLessThan(161_000);
  });

  it('cannot call a network enforced that it cannot try', async () => {
    const { changes, it } = await probe(() => false, 1000, []);
    expect(changes).toEqual([[0, 'NotEnforced']]);
    expect(it.reason).toContain('nothing to probe');
  });
});

describe('the connector', () => {
  it('distinguishes an open port from a closed one', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await systemConnector({ name: 'x', host: '127.0.0.1', port }, 1000)).toBeNull();
    await new Promise((resolve) => {
      server.close(resolve);
    });
    expect(await systemConnector({ name: 'x', host: '127.0.0.1', port }, 1000)).toBe('ECONNREFUSED');
  });

  it('knows an answer to a question over UDP from none', async () => {
    const server = createSocket('udp4');
    let answers = true;
    server.on('message', (message, peer) => (answers ? server.send(message, peer.port, peer.address) : undefined));
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    const target: Target = { name: 'dns', host: '127.0.0.1', port: server.address().port, by: 'DNS' };
    expect(await systemConnector(target, 5000)).toBeNull();
    answers = false;
    expect(await systemConnector(target, 50)).toBe('ETIMEDOUT');
    server.close();
    await once(server, 'close');
    expect(await systemConnector(target, 5000)).toBe('ECONNREFUSED');
  });
});
