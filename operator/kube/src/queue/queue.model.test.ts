import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtualClock.ts';
import { WorkQueue } from './queue.ts';

/** What the queue must be, in the plainest words: no heaps, no laziness. */
class Model {
  now = 0;
  order = 0;
  readonly processing = new Set<string>();
  readonly dirty = new Map<string, { priority: number; order: number }>();
  readonly waiting = new Map<string, { priority: number; at: number; order: number }>();

  mark(key: string, priority: number): void {
    const known = this.dirty.get(key);
    if (known === undefined || known.priority < priority) this.dirty.set(key, { priority, order: (this.order += 1) });
  }

  add(key: string, priority: number): void {
    const waiting = this.waiting.get(key);
    this.waiting.delete(key);
    this.mark(key, Math.max(priority, waiting?.priority ?? -Infinity));
  }

  addAfter(key: string, ms: number, priority: number): void {
    if (ms <= 0) this.add(key, priority);
    else if (this.dirty.has(key)) this.mark(key, priority);
    else {
      const old = this.waiting.get(key);
      const at = Math.min(this.now + ms, old?.at ?? Infinity);
      if (old && old.at === at && old.priority >= priority) return;
      this.waiting.set(key, { at, priority: Math.max(priority, old?.priority ?? -Infinity), order: (this.order += 1) });
    }
  }

  advance(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const [next] = [...this.waiting].filter(([, entry]) => entry.at <= until).sort(([, a], [, b]) => a.at - b.at || a.order - b.order);
      if (next === undefined) break;
      this.now = Math.max(this.now, next[1].at);
      this.waiting.delete(next[0]);
      this.mark(next[0], next[1].priority);
    }
    this.now = until;
  }

  get ready(): string[] {
    return [...this.dirty]
      .filter(([key]) => !this.processing.has(key))
      .sort(([, a], [, b]) => b.priority - a.priority || a.order - b.order)
      .map(([key]) => key);
  }
}

interface Real {
  readonly queue: WorkQueue;
  readonly clock: VirtualClock;
}

type Command = fc.AsyncCommand<Model, Real>;

const command = (label: string, run: (model: Model, real: Real) => void | Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real);
    expect(real.queue.depth).toBe(model.ready.length);
    expect(real.queue.processing).toBe(model.processing.size);
  },
  toString: () => label,
});

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const priority = fc.constantFrom(-100, 0, 0, 0, 7);

const commands = [
  fc.tuple(key, priority).map(([k, p]) =>
    command(`add ${k} ${p}`, (model, { queue }) => {
      model.add(k, p);
      queue.add(k, { priority: p });
    }),
  ),
  fc.tuple(key, fc.integer({ min: 0, max: 50 }), priority).map(([k, ms, p]) =>
    command(`addAfter ${k} ${ms} ${p}`, (model, { queue }) => {
      model.addAfter(k, ms, p);
      queue.addAfter(k, ms, { priority: p });
    }),
  ),
  fc.constant(
    command('get', async (model, { queue }) => {
      const [next] = model.ready;
      if (next === undefined) return;
      const item = await queue.get();
      expect(item).toEqual({ key: next, priority: model.dirty.get(next)?.priority });
      model.dirty.delete(next);
      model.processing.add(next);
    }),
  ),
  key.map((k) =>
    command(`done ${k}`, (model, { queue }) => {
      model.processing.delete(k);
      queue.done(k);
    }),
  ),
  fc.integer({ min: 0, max: 40 }).map((ms) =>
    command(`advance ${ms}`, async (model, { clock }) => {
      model.advance(ms);
      await clock.advance(ms);
    }),
  ),
];

describe('WorkQueue against its model', () => {
  it('gives the same keys in the same order after any history', async () => {
    const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 60 }), async (history) => {
      const clock = new VirtualClock();
      await fc.asyncModelRun(() => ({ model: new Model(), real: { clock, queue: new WorkQueue({ name: 'model', clock }) } }), history);
    });
    await fc.assert(property, { numRuns: 300 });
  });
});
