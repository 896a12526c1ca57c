import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { execBounds, type ExecEvent } from '@agentfleet/protocol/keeper';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../base/clock.ts';
import { acceleratedClock, startHarness, ulid, type FakeRunner, type Harness } from '../testing/index.ts';
import { Silence } from './output.ts';

let h: Harness | undefined;

afterEach(async () => {
  await h?.[Symbol.asyncDispose]();
  h = undefined;
});

const limit = execBounds.outputLimitBytes;
const piece = 1024 * 1024;
const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
/** Bytes that show where they are from. */
const bytesOf = (n: number): Buffer => Buffer.alloc(piece, `${n}.`);

/** A runner that fills the limit with standard output, then writes `more` pieces to both streams in turn. */
function flooding(more: number) {
  return {
    onFrame: ({ header }: { readonly header: Readonly<Record<string, unknown>> }, runner: FakeRunner): void => {
      if (header['t'] !== 'exec') return;
      const id = String(header['id']);
      runner.send({ t: 'start', id, pid: 1 });
      for (let n = 0; n < limit / piece; n++) runner.out(id, 'stdout', bytesOf(n));
      for (let n = 0; n < more; n++) runner.out(id, n % 2 === 0 ? 'stdout' : 'stderr', bytesOf(n));
      runner.end(id);
    },
  };
}

const request = (spillBytes: number) => ({ execId: ulid(), tool: 'Shell', command: 'x', spillBytes, redaction: 'Raw' }) as const;

describe('output over the limit', () => {
  it('is kept in files that can be read by range, with their hashes in the end and in the log', async () => {
    h = await startHarness();
    const runner = await h.runner(flooding(5));
    const asked = request(8 * piece);
    const { end, stdout } = await h.client().run(asked);
    const [out, err] = [
      [0, 2, 4],
      [1, 3],
    ].map((ns) => Buffer.concat(ns.map(bytesOf)));
    expect(stdout.length).toBe(limit);
    expect(end.dropped).toEqual({ stdout: 3 * piece, stderr: 2 * piece });
    const spill = {
      stdout: { bytes: 3 * piece, sha256: sha(out ?? Buffer.alloc(0)) },
      stderr: { bytes: 2 * piece, sha256: sha(err ?? Buffer.alloc(0)) },
    };
    expect(end.spill).toEqual(spill);
    expect(runner.frames[0]?.header['outputLimitBytes']).toBe(limit + 8 * piece);
    expect(await buffer(await h.client().spilledOutput(asked.execId, 'stdout'))).toEqual(out);
    expect(await buffer(await h.client().spilledOutput(asked.execId, 'stderr', piece - 3, 7))).toEqual(err?.subarray(piece - 3, piece + 4));
    await expect(h.client().spilledOutput(asked.execId, 'stderr', 2 * piece)).rejects.toMatchObject({ code: 'AF_INVALID' });
    const ends: unknown[] = [];
    for await (const { type, body } of h.client().events()) if (type === 'ExecEnded') ends.push(body['spill']);
    expect(ends).toEqual([spill]);
  });

  it('stops at the requested size, without a gap, and the numbers show the loss', async () => {
    h = await startHarness();
    await h.runner(flooding(5));
    const { end } = await h.client().run(request(2 * piece + 10));
    expect(end.dropped).toEqual({ stdout: 3 * piece, stderr: 2 * piece });
    expect(end.spill?.stdout?.bytes).toBe(piece + 10);
    expect(end.spill?.stderr?.bytes).toBe(piece);
  });

  it('is dropped when not requested, or where the store has no room', async () => {
    h = await startHarness();
    await h.runner(flooding(2));
    const { execId, ...rest } = request(0);
    expect((await h.client().run({ ...rest, execId })).end.spill).toBeUndefined();
    expect(await readdir(join(h.store, 'spills'))).toEqual([]);
    await expect(h.client().spilledOutput(execId, 'stdout')).rejects.toMatchObject({ code: 'AF_NOT_FOUND' });
    await expect(h.client().spilledOutput(ulid(), 'stdout')).rejects.toMatchObject({ code: 'AF_EXEC_UNKNOWN' });
    await expect(h.client().spilledOutput('..%2f..%2fevents', 'stdout')).rejects.toMatchObject({ status: 404 });
    await h[Symbol.asyncDispose]();
    h = await startHarness({ env: { AGENTFLEET_STORE_LIMIT_BYTES: String(limit + 6 * piece) } });
    await h.runner(flooding(2));
    expect((await h.client().run(request(8 * piece))).end.spill).toBeUndefined();
  });

  it('of the oldest commands is forgotten', async () => {
    h = await startHarness();
    const { spills } = h.running.keeper.parts;
    const ids = Array.from({ length: 10 }, () => ulid());
    for (const execId of ids) {
      const spill = spills.spill({ execId, maxBytes: 100, room: () => Promise.resolve(Number.MAX_SAFE_INTEGER) });
      await spill.push('stdout', Buffer.from('x'));
      expect(await spill.finish()).toEqual({ stdout: { bytes: 1, sha256: sha(Buffer.from('x')) } });
    }
    expect(await readdir(join(h.store, 'spills'))).toHaveLength(8);
    const { bytes, content } = await spills.read(ids[9] ?? '', 'stdout', 0, 1);
    expect([bytes, await text(content)]).toEqual([1, 'x']);
  });
});

describe('silence', () => {
  it('is an event, once in each silence, and ends nothing', async () => {
    // Not faster: the runner's first message must arrive in time by the same clock.
    h = await startHarness({ clock: acceleratedClock(20) });
    const runner = await h.runner({
      onFrame: ({ header }, r) => header.t === 'exec' && r.send({ t: 'start', id: String(header['id']), pid: 1 }),
    });
    const execId = ulid();
    const seen: ExecEvent['type'][] = [];
    for await (const event of h.client().exec({ execId, tool: 'Shell', command: 'x', timeoutSeconds: 3600, quietSeconds: 1 })) {
      if (event.type === 'keepalive') continue;
      seen.push(event.type);
      if (event.type !== 'quiet') continue;
      if (seen.includes('out')) runner.end(execId);
      else runner.out(execId, 'stdout', 'awake');
    }
    expect(seen).toEqual(['start', 'quiet', 'out', 'quiet', 'end']);
  });

  it('starts again with every output, and ends with the command', () => {
    let now = 0;
    let due: { readonly at: number; readonly run: () => void } | null = null;
    const clock: Pick<Clock, 'monotonic' | 'after'> = {
      monotonic: () => now,
      after: (ms, run) => {
        due = { at: now + ms, run };
        return () => void (due = null);
      },
    };
    const reported: number[] = [];
    const silence = new Silence(100, clock as Clock, (ms) => reported.push(ms));
    const until = (end: number): void => {
      for (; due !== null && due.at <= end;) {
        const { at, run } = due as { at: number; run: () => void };
        [now, due] = [at, null];
        run();
      }
      now = end;
    };
    silence.heard();
    until(60);
    silence.heard();
    until(159);
    expect(reported).toEqual([]);
    until(1000);
    expect(reported).toEqual([100]);
    silence.heard();
    until(1050);
    silence.end();
    silence.heard();
    until(5000);
    expect(reported).toEqual([100]);
  });
});
