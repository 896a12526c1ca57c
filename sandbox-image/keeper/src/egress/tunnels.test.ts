import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { egressBounds, type AuditRecord } from '@agentfleet/protocol/keeper';
import { systemClock } from '../base/clock.ts';
import { startHarness, type Harness } from '../testing/index.ts';
import { waitUntil } from '../testing/wait.ts';
import { EgressJournal, splice } from './tunnels.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness[Symbol.asyncDispose]());

const tunnels = () => harness.running.keeper.parts.egress;

function dial(): Socket {
  const socket = connect({ host: '127.0.0.1', port: tunnels().port ?? 0, allowHalfOpen: true });
  socket.on('error', () => undefined);
  return socket;
}

async function park(epoch = 1): Promise<Duplex> {
  const before = tunnels().parked;
  const tunnel = await harness.client(epoch).egress();
  await waitUntil(() => tunnels().parked > before);
  return tunnel;
}

async function all(stream: NodeJS.ReadableStream): Promise<Buffer> {
  // An iterator would destroy the stream at its end, and so its other direction.
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  stream.resume();
  await Promise.race([once(stream, 'end'), once(stream, 'close')]);
  return Buffer.concat(parts);
}

async function records(): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const record of harness.client().events()) if (record.type.startsWith('Egress')) found.push(record);
  return found;
}

describe('a tunnel out of the sandbox', () => {
  it('carries one connection byte for byte, each direction to its own end, and is in the log', async () => {
    const tunnel = await park();
    const local = dial();
    local.end('request');
    expect((await all(tunnel)).toString()).toBe('request');
    tunnel.end('answer, after the other direction had ended');
    expect((await all(local)).toString()).toBe('answer, after the other direction had ended');
    await waitUntil(() => tunnels().open === 0);
    const [opened, closed] = await records();
    expect(opened).toMatchObject({ type: 'EgressOpened', body: { id: 1, epoch: 1 } });
    expect(closed).toMatchObject({ type: 'EgressClosed', body: { id: 1, bytesOut: 7, bytesIn: 43, why: 'Ended' } });
  });

  it('without one, a connection is closed at once; while others are joined it waits for the next one', async () => {
    expect((await all(dial())).length).toBe(0);
    await park();
    const first = dial();
    await waitUntil(() => tunnels().open === 1);
    const second = dial();
    second.write('second');
    const late = await harness.client().egress();
    const [bytes] = (await once(late, 'data')) as [Buffer];
    expect(bytes.toString()).toBe('second');
    expect((await all(dial())).length).toBe(0);
    first.destroy();
    second.destroy();
  });

  it('is the newest that waits: older ones may be closed already, and the news on its way', async () => {
    const older = await park();
    const newer = await park();
    const local = dial();
    local.end('request');
    expect((await all(newer)).toString()).toBe('request');
    expect(tunnels().parked).toBe(1);
    older.destroy();
    local.destroy();
  });

  it('is not handed out after its worker has gone', async () => {
    const gone = await park();
    gone.destroy();
    await waitUntil(() => tunnels().parked === 0);
    const half = await park();
    half.end();
    await waitUntil(() => tunnels().parked === 0);
    const left = connect(tunnels().port ?? 0, '127.0.0.1').destroy();
    await once(left, 'close');
    tunnels().park(left, 1); // its worker went while it was admitted
    expect(tunnels().parked).toBe(0);
    expect((await all(dial())).length).toBe(0);
  });

  it('keeps every byte of many at once', async () => {
    const payload = randomBytes(2 * 1024 * 1024);
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    for (let n = 0; n < 8; n += 1) {
      const tunnel = await park();
      tunnel.pipe(tunnel);
    }
    const echoed = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const local = dial();
        local.end(payload);
        return digest(await all(local));
      }),
    );
    expect(new Set(echoed)).toEqual(new Set([digest(payload)]));
  });

  it('ends with its epoch, parked or joined', async () => {
    const [joined, parked] = [await park(1), await park(1)];
    const local = dial();
    await waitUntil(() => tunnels().open === 1);
    const ended = [joined, parked, local].map((stream) => {
      stream.resume();
      return once(stream, 'end');
    });
    await harness.client(2).egress();
    await Promise.all(ended);
    await waitUntil(() => tunnels().parked === 1);
    expect([tunnels().parked, tunnels().open]).toEqual([1, 0]);
  });

  it('is refused to unauthenticated callers, to older epochs, and above the bound', async () => {
    await harness.client(3).note('Here', {});
    await expect(harness.client(2).egress()).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    await expect(harness.client(3, () => Promise.resolve('nonsense')).egress()).rejects.toMatchObject({ code: 'AF_UNAUTHENTICATED' });
    const client = harness.client(3);
    // Connections from the pod itself are bounded too, so that the last few are refused there in this test.
    const some = await Promise.all(Array.from({ length: 24 }, () => client.egress()));
    await waitUntil(() => tunnels().parked === 24);
    expect(egressBounds.maxParked).toBe(32);
    for (const one of some) one.destroy();
    await waitUntil(() => tunnels().parked === 0);
  });

  it('other upgrades are refused, and everything ends with the keeper', async () => {
    const { port } = new URL(harness.running.address);
    const ask = async (head: string): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port: Number(port) });
      socket.write(`${head}\r\nHost: keeper\r\nConnection: upgrade\r\n\r\n`);
      return (await all(socket)).toString();
    };
    expect(await ask('GET /v1/info HTTP/1.1\r\nUpgrade: websocket')).toContain('AF_NOT_FOUND');
    expect(await ask('POST /v1/egress HTTP/1.1\r\nUpgrade: websocket')).toContain('AF_INVALID');
    expect(await ask('POST /v1/egress HTTP/1.1\r\nUpgrade: agentfleet-egress')).toContain('AF_UNAUTHENTICATED');
    const tunnel = await park();
    tunnel.resume();
    const closed = once(tunnel, 'end');
    await harness.stop();
    await closed;
  });
});

it('one on which no byte comes is ended; after the first byte its worker decides how long nothing may move', async () => {
  const [a, b] = [await park(), await park()];
  await expect(splice(a, b, { clock: systemClock, silentMs: 50 })).resolves.toMatchObject({ why: 'Idle' });
  const timers = new Set<() => void>();
  const after = (_ms: number, run: () => void) => {
    timers.add(run);
    return () => void timers.delete(run);
  };
  const [[near, program], [far, worker]] = [duplexPair(), duplexPair()];
  const joined = splice(near, far, { clock: { ...systemClock, after }, silentMs: 50 });
  expect(timers.size).toBe(1);
  program.write('asked');
  expect(String((await once(worker, 'data'))[0])).toBe('asked');
  expect(timers.size).toBe(0);
  far.destroy();
  await expect(joined).resolves.toEqual({ forth: 5, back: 0, why: 'Cut' });
});

it('after five hundred connections of an epoch the rest is one sum', () => {
  const lines: unknown[] = [];
  const journal = new EgressJournal((type, body) => lines.push({ type, ...body }));
  for (let id = 1; id <= 600; id += 1) {
    journal.closed({ id, bytesOut: 2, bytesIn: 3, millis: 1, why: 'Ended' }, journal.opened(id, 1));
  }
  expect(lines).toHaveLength(1000);
  journal.sum();
  expect(lines.at(-1)).toEqual({ type: 'EgressClosed', connections: 100, bytesOut: 200, bytesIn: 300, why: 'Summed' });
});
