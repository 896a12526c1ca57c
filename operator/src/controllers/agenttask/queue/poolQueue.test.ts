import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTurn, PoolQueue, type Bounds, type Place, TurnQueue } from './poolQueue.ts';

const anywhere: Bounds = { perNamespace: Infinity, blocked: () => false, isLost: () => false };

const place = (name: string, change: Partial<Place> = {}): Place => {
  const namespace = change.namespace ?? 'team';
  return {
    key: `${namespace}/${name}`,
    namespace,
    priority: 0,
    created: '2030-01-01T00:00:00Z',
    standing: 'Queued',
    worker: undefined,
    crowdedOut: false,
    ...change,
  };
};

const queueOf = (...places: readonly Place[]): PoolQueue => {
  const queue = new PoolQueue();
  for (const one of places) queue.add(one);
  return queue;
};

describe('whose turn it is', () => {
  test('priority comes first, then age, then the name', () => {
    const queue = queueOf(
      place('b'),
      place('a'),
      place('old', { created: '2029-01-01T00:00:00Z' }),
      place('high', { priority: 1, created: '2031-01-01T00:00:00Z' }),
    );
    expect(queue.next(9, anywhere)).toEqual(['team/high', 'team/old', 'team/a', 'team/b']);
  });

  test('a namespace with a thousand old tasks holds up the one task of another by one slot at most', () => {
    const many = Array.from({ length: 1000 }, (_, at) => place(`m${at}`, { namespace: 'big', created: '2029-01-01T00:00:00Z' }));
    const one = place('one', { namespace: 'small' });
    const queue = queueOf(...many, one);
    expect(queue.next(2, anywhere)).toEqual(['big/m0', 'small/one']);
    expect(queue.view(one, one, anywhere).ahead).toBe(1);
    const last = many[999]!;
    expect(queue.view({ ...last, key: 'big/m999', created: '2029-01-01T00:00:01Z' }, undefined, anywhere).ahead).toBe(1001);
  });

  test('what a namespace holds already counts in its share, and a higher priority does not wait for it', () => {
    const running = ['r1', 'r2'].map((name) => place(name, { namespace: 'big', standing: 'Running', worker: 'platform/w-1' }));
    const queue = queueOf(
      ...running,
      place('next', { namespace: 'big', created: '2029-01-01T00:00:00Z' }),
      place('s1', { namespace: 'small' }),
      place('s2', { namespace: 'small' }),
      place('urgent', { namespace: 'big', priority: 9 }),
    );
    expect(queue.next(9, anywhere)).toEqual(['big/urgent', 'small/s1', 'small/s2', 'big/next']);
    expect([queue.running, queue.load('platform/w-1'), queue.queued]).toEqual([2, 2, 4]);
  });

  test('who cannot begin is left out, and takes no slot from others', () => {
    const bounds: Bounds = { perNamespace: 2, blocked: (namespace) => namespace === 'blocked', isLost: (worker) => worker === 'w' };
    const own = place('own', { namespace: 'small', created: '2031-01-01T00:00:00Z' });
    const queue = queueOf(
      place('r', { namespace: 'big', standing: 'Running', worker: 'w' }),
      ...['a', 'b', 'c'].map((name) => place(name, { namespace: 'big', priority: 5 })),
      place('x', { namespace: 'blocked', priority: 9 }),
      own,
    );
    expect(queue.next(9, bounds)).toEqual(['big/a', 'small/own']);
    expect(queue.view(own, own, bounds)).toEqual({ running: 1, runningInNamespace: 0, waiting: 4, ahead: 4, takers: 1, stranded: 1 });
  });

  test('those that found no place in the queue come in by their turn', () => {
    const out = (name: string, priority = 0): Place => place(name, { standing: 'Elsewhere', crowdedOut: true, priority });
    const queue = queueOf(out('a'), out('b', 3));
    expect([queue.nextCrowdedOut(1), queue.next(5, anywhere), queue.empty]).toEqual([['team/b'], [], false]);
    queue.remove(out('a'));
    queue.remove(out('b', 3));
    expect(queue.empty).toBe(true);
  });
});

/** Gives slots one by one to the first by priority, by what its namespace holds, by age: slow, and surely right. */
function greedy(places: readonly Place[], { perNamespace, blocked }: Bounds): readonly string[] {
  const held = new Map<string, number>();
  const of = (namespace: string): number => held.get(namespace) ?? 0;
  for (const { namespace, standing } of places) if (standing === 'Running') held.set(namespace, of(namespace) + 1);
  let left = places.filter(({ standing }) => standing === 'Queued' || standing === 'New');
  const keys: string[] = [];
  for (;;) {
    const [first] = left
      .filter(({ namespace }) => !blocked(namespace) && of(namespace) < perNamespace)
      .sort((a, b) => b.priority - a.priority || of(a.namespace) - of(b.namespace) || byTurn(a, b));
    if (first === undefined) return keys;
    keys.push(first.key);
    held.set(first.namespace, of(first.namespace) + 1);
    left = left.filter(({ key }) => key !== first.key);
  }
}

const places = fc.uniqueArray(
  fc.record({
    name: fc.integer({ min: 0, max: 60 }),
    namespace: fc.constantFrom('a', 'b', 'c', 'd'),
    priority: fc.constantFrom(-1, -0.5, 0, 0.5, 1),
    created: fc.constantFrom('2029-01-01T00:00:00Z', '2030-01-01T00:00:00Z'),
    standing: fc.constantFrom('Queued', 'New', 'Running', 'Elsewhere') as fc.Arbitrary<Place['standing']>,
  }),
  { selector: ({ name, namespace }) => `${namespace}/${name}`, maxLength: 40, size: 'max' },
);

describe('for any queue', () => {
  test('who is next is who would be found by looking at everybody, before and after others have left', () => {
    fc.assert(
      fc.property(places, fc.constantFrom(1, 2, 3, Infinity), fc.nat(40), (made, perNamespace, left) => {
        const all = made.map(({ name, ...rest }) =>
          place(String(name), { ...rest, worker: rest.standing === 'Running' ? 'w' : undefined }),
        );
        const bounds: Bounds = { ...anywhere, perNamespace, blocked: (namespace) => namespace === 'd' };
        const queue = queueOf(...all);
        expect(queue.next(99, bounds)).toEqual(greedy(all, bounds));
        for (const gone of all.slice(0, left)) queue.remove({ ...gone });
        const rest = all.slice(left);
        const order = greedy(rest, bounds);
        expect(queue.next(99, bounds)).toEqual(order);
        expect(queue.running).toBe(rest.filter(({ standing }) => standing === 'Running').length);
        const free = greedy(rest, { ...bounds, perNamespace: Infinity, blocked: () => false });
        for (const own of rest) {
          if (own.standing !== 'Queued' && own.standing !== 'New') continue;
          const { ahead, takers } = queue.view(own, own, bounds);
          expect(ahead).toBe(free.indexOf(own.key));
          if (order.includes(own.key)) expect(takers).toBe(order.indexOf(own.key));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a sorted collection', () => {
  test('is a sorted list, whatever is added and taken away', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(3000)), { maxLength: 4000, size: 'max' }), (steps) => {
        const turns = new TurnQueue<number>((a, b) => a - b);
        const model = new Set<number>();
        for (const [adds, value] of steps) {
          if (!adds) expect(turns.delete(value)).toBe(model.delete(value));
          else if (!model.has(value)) {
            turns.add(value);
            model.add(value);
          }
        }
        const sorted = [...model].sort((a, b) => a - b);
        expect([...turns]).toEqual(sorted);
        expect(turns.size).toBe(sorted.length);
        for (const rank of [0, sorted.length >> 1, sorted.length]) {
          expect(turns.at(rank)).toBe(sorted[rank]);
          expect(turns.rank(sorted[rank] ?? 9999)).toBe(rank);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('of 100,000 elements costs a few comparisons each, also when it is emptied from the front', () => {
    let comparisons = 0;
    const turns = new TurnQueue<number>((a, b) => ((comparisons += 1), a - b));
    const count = 100_000;
    for (let at = 0; at < count; at += 1) turns.add((at * 7919) % count);
    expect([...turns]).toHaveLength(count);
    for (let at = 0; at < count; at += 1) expect(turns.delete(at)).toBe(true);
    expect(turns.size).toBe(0);
    expect(comparisons).toBeLessThan(2 * count * 25);
  });
});
