import * as fc from 'fast-check';
import { ranks, type Item, type Link, type LinkType, type Problem, type Slot } from '../solver/index.ts';

export const gibibyte = 2 ** 30;

/** Slots of one node with GPUs of 40 GiB. */
export function box(count: number, node = 'dgx-1'): readonly Slot[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${node}/gpu${index}`,
    node,
    usableBytes: 39.5 * gibibyte,
    healthy: true,
  }));
}

/** Every pair joined by NVLink, as on an HGX board. */
export function allToAll(slots: readonly Slot[]): readonly Link[] {
  return slots.flatMap((a, index) => slots.slice(index + 1).map((b): Link => ({ a: a.name, b: b.name, type: 'NV' })));
}

/** Problems of up to `items` single-shard items on up to `slots` slots with every kind of rule. */
export function problems(items: number, slots: number): fc.Arbitrary<Problem> {
  return fc
    .integer({ min: 1, max: slots })
    .chain((slotCount) => fc.integer({ min: 1, max: items }).chain((count) => problemOf(count, slotCount)));
}

function problemOf(count: number, slotCount: number): fc.Arbitrary<Problem> {
  const names = Array.from({ length: count }, (_, index) => `item${index}`);
  const slotNames = Array.from({ length: slotCount }, (_, index) => `n/gpu${index}`);
  const pairs = names.flatMap((a, index) => names.slice(index + 1).map((b) => ({ a, b })));
  const slotPairs = slotNames.flatMap((a, index) => slotNames.slice(index + 1).map((b) => ({ a, b })));
  return fc.record({
    slots: fc.tuple(
      ...slotNames.map((name) =>
        fc.record({
          name: fc.constant(name),
          node: fc.constant('n'),
          usableBytes: fc.constantFrom(40, 40, 80).map((size) => size * gibibyte),
          healthy: fc.integer({ min: 0, max: 9 }).map((number) => number > 0),
          isolated: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
        }),
      ),
    ),
    links: fc.tuple(
      ...slotPairs.map((pair) => fc.constantFrom<LinkType>('NV', 'NV', 'PIX', 'SYS').map((type): Link => ({ ...pair, type }))),
    ),
    items: fc.tuple(...names.map((name) => itemOf(name, names, slotNames))),
    traffic: fc
      .tuple(...pairs.map((pair) => fc.constantFrom(0, 0, 0.5, 1).map((weight) => ({ ...pair, weight }))))
      .map((all) => all.filter(({ weight }) => weight > 0)),
    current: fc
      .tuple(...names.map((name) => fc.constantFrom(undefined, ...slotNames).map((slot) => [name, slot] as const)))
      .map((all) => new Map(all.flatMap(([name, slot]) => (slot === undefined ? [] : [[name, [slot]] as const])))),
    nvlink: fc.constantFrom('Preferred', 'Preferred', 'Ignore', 'Required'),
  });
}

function itemOf(name: string, names: readonly string[], slots: readonly string[]): fc.Arbitrary<Item> {
  return fc
    .record({
      bytes: fc.integer({ min: 1, max: 30 }).map((size) => size * gibibyte),
      latency: fc.constantFrom('Decode', 'Score', 'Tiny'),
      rank: fc.constantFrom(...ranks),
      slots: fc.option(fc.subarray([...slots], { minLength: 1 }), { freq: 4, nil: undefined }),
      exclusive: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
      group: fc.constantFrom(undefined, undefined, undefined, 'g'),
      apart: fc.option(
        fc.constantFrom(...names).map((other) => (other === name ? [] : [other])),
        { freq: 4, nil: undefined },
      ),
      migrationSeconds: fc.constantFrom(0.1, 1, 60),
    })
    .map(({ slots: allowed, group, apart, ...item }) => ({
      name,
      ...item,
      ...(allowed === undefined ? {} : { slots: allowed }),
      ...(group === undefined ? {} : { group }),
      ...(apart === undefined ? {} : { apart }),
    }));
}

/**
 * Problems of items and slots that look much alike and differ in links and traffic: where a search that skips mirrors
 * may skip too much.
 */
export function alikeProblems(items: number, slotCount: number): fc.Arbitrary<Problem> {
  const names = Array.from({ length: items }, (_, index) => `item${index}`);
  const slots = box(slotCount, 'n');
  const slotPairs = slots.flatMap((a, index) => slots.slice(index + 1).map((b) => ({ a: a.name, b: b.name })));
  const pairs = names.flatMap((a, index) => names.slice(index + 1).map((b) => ({ a, b })));
  return fc.record({
    slots: fc.constant(slots),
    links: fc.tuple(...slotPairs.map((pair) => fc.constantFrom<LinkType>('NV', 'SYS').map((type): Link => ({ ...pair, type })))),
    items: fc.tuple(...names.map((name) => fc.constantFrom(15, 25).map((size) => alike(name, size)))),
    traffic: fc
      .tuple(...pairs.map((pair) => fc.constantFrom(0, 0.3, 1).map((weight) => ({ ...pair, weight }))))
      .map((all) => all.filter(({ weight }) => weight > 0)),
    current: fc.constant(new Map<string, readonly string[]>()),
    nvlink: fc.constant('Preferred'),
  });
}

function alike(name: string, size: number): Item {
  return { name, bytes: size * gibibyte, latency: 'Decode', rank: 'Core' };
}

/** Problems of items that span up to three slots, most of which fit. */
export function wideProblems(items: number, slotCount: number): fc.Arbitrary<Problem> {
  const names = Array.from({ length: items }, (_, index) => `item${index}`);
  const slots = box(slotCount, 'n');
  const slotNames = slots.map(({ name }) => name);
  const slotPairs = slotNames.flatMap((a, index) => slotNames.slice(index + 1).map((b) => ({ a, b })));
  const pairs = names.flatMap((a, index) => names.slice(index + 1).map((b) => ({ a, b })));
  return fc.record({
    slots: fc.tuple(...slots.map((slot) => fc.integer({ min: 0, max: 19 }).map((number) => ({ ...slot, healthy: number > 0 })))),
    links: fc.tuple(
      ...slotPairs.map((pair) => fc.constantFrom<LinkType>('NV', 'NV', 'NV', 'PIX').map((type): Link => ({ ...pair, type }))),
    ),
    items: fc.tuple(...names.map((name) => wideItem(name, slotNames))),
    traffic: fc
      .tuple(...pairs.map((pair) => fc.constantFrom(0, 0.3, 1).map((weight) => ({ ...pair, weight }))))
      .map((all) => all.filter(({ weight }) => weight > 0)),
    current: fc
      .tuple(...names.map((name) => fc.option(fc.subarray(slotNames, { minLength: 1, maxLength: 3 })).map((own) => [name, own] as const)))
      .map((all) => new Map(all.flatMap(([name, own]) => (own === null ? [] : [[name, own] as const])))),
    nvlink: fc.constantFrom('Preferred', 'Preferred', 'Ignore'),
  });
}

function wideItem(name: string, slots: readonly string[]): fc.Arbitrary<Item> {
  return fc
    .record({
      bytes: fc.integer({ min: 1, max: 16 }).map((size) => size * gibibyte),
      shards: fc.constantFrom(1, 2, 2, 3),
      latency: fc.constantFrom('Decode', 'Score', 'Tiny'),
      rank: fc.constantFrom(...ranks),
      slots: fc.option(fc.subarray([...slots], { minLength: 3 }), { freq: 4, nil: undefined }),
      migrationSeconds: fc.constantFrom(0.1, 1, 60),
    })
    .map(({ slots: allowed, ...item }) => ({ name, ...item, ...(allowed === undefined ? {} : { slots: allowed }) }));
}
