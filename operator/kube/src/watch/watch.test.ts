import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../runtime/clock.ts';
import { KubeError } from '../runtime/errors.ts';
import { widgets } from '../testing/widget.ts';
import type { Transport } from '../transport/types.ts';
import { watch, type WatchEvent } from './watch.ts';

/** A transport whose only stream is these pieces. */
function streaming(pieces: readonly Uint8Array[]): Transport {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield await Promise.resolve(piece);
  }
  const none = (): Promise<never> => Promise.reject(new KubeError('AF_STOPPED', { what: 'none', where: 'test', cure: 'none' }));
  return {
    host: 'test',
    request: none,
    stream: () => Promise.resolve({ body: body(), close: () => {} }),
    close: () => Promise.resolve(),
  };
}

async function eventsOf(pieces: readonly Uint8Array[]): Promise<WatchEvent<object>[]> {
  const seen: WatchEvent<object>[] = [];
  const options = { transport: streaming(pieces), resource: widgets, timeoutSeconds: 60, stallMs: 60_000, clock: systemClock };
  const end = await watch({ ...options, signal: new AbortController().signal }, (event) => seen.push(event));
  expect(end).toBe('closed');
  return seen;
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}

describe('a watch', () => {
  it('shows the same events however its bytes arrive, also those that carry bytes of several characters', async () => {
    const object = fc.record({
      metadata: fc.record({ name: fc.string({ unit: 'binary', minLength: 1 }), resourceVersion: fc.nat().map((n) => String(n + 1)) }),
      spec: fc.jsonValue(),
    });
    const type = fc.constantFrom('ADDED' as const, 'MODIFIED' as const, 'DELETED' as const, 'BOOKMARK' as const);
    const events = fc.array(fc.record({ type, object }), { maxLength: 12 });
    const property = fc.asyncProperty(events, fc.array(fc.nat(), { maxLength: 40 }), fc.boolean(), async (sent, at, torn) => {
      const text = sent.map((event) => `${JSON.stringify(event)}\n`).join('');
      const bytes = Buffer.from(torn ? `${text}{"type":"ADD` : text);
      // Through JSON once, as what is sent: minus zero is not.
      expect(await eventsOf(cut(bytes, at))).toEqual(JSON.parse(JSON.stringify(sent)));
    });
    await fc.assert(property, { numRuns: process.env['AGENTFLEET_FULL'] === '1' ? 10_000 : 100 });
  });

  it('lets others run while a flood of events comes', async () => {
    const event = `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a', resourceVersion: '1' }, data: 'x'.repeat(2000) } })}\n`;
    const pieces = Array.from({ length: 2000 }, () => Buffer.from(event.repeat(20)));
    let ran = 0;
    let going = true;
    const others = (): void => {
      ran += 1;
      if (going) setImmediate(others);
    };
    setImmediate(others);
    await eventsOf(pieces);
    going = false;
    expect(ran).toBeGreaterThan(5);
  });
});
