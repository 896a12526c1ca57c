import { headroom, weights, type Item, type Problem } from '../solver/index.ts';

const hops = { NV: 1, PIX: 3, PXB: 3, PHB: 6, NODE: 6, SYS: 10 } as const;

/** Slots of each item, by index. */
type Places = readonly (readonly number[])[];

/** All sets of so many slots. */
function setsOf(size: number, slots: number): Places {
  const all = Array.from({ length: 2 ** slots }, (_, bits) =>
    Array.from({ length: slots }, (_, slot) => slot).filter((slot) => (bits >> slot) % 2 === 1),
  );
  return all.filter((set) => set.length === size);
}

/** The least cost of all placements, found by trying all of them; undefined when none fits. */
export function exhaustiveCost(problem: Problem): number | undefined {
  const { items, slots } = problem;
  let best: number | undefined;
  const sets = items.map(({ shards = 1 }) => setsOf(shards, slots.length));
  const total = sets.reduce((product, { length }) => product * length, 1);
  for (let code = 0; code < total; code += 1) {
    let rest = code;
    const places = sets.map((choices): readonly number[] => {
      const chosen = choices[rest % choices.length] ?? [];
      rest = Math.floor(rest / choices.length);
      return chosen;
    });
    if (!allowed(problem, places)) continue;
    const cost = costOf(problem, places);
    if (best === undefined || cost < best) best = cost;
  }
  return best;
}

function allowed({ items, slots, nvlink, links, traffic }: Problem, places: Places): boolean {
  const fits = slots.every((slot, index) => {
    const tenants = items.filter((_, item) => places[item]?.includes(index));
    const bytes = tenants.reduce((sum, item) => sum + item.bytes, 0);
    if (tenants.length > 0 && !slot.healthy) return false;
    if (bytes > Math.floor(slot.usableBytes * (1 - (tenants.length > 1 ? headroom.shared : headroom.exclusive)))) return false;
    return tenants.every((a) => tenants.every((b) => a === b || (bearable(a, b) && bearable(b, a))));
  });
  const pinned = items.every((item, index) =>
    (places[index] ?? []).every((slot) => item.slots?.includes(slots[slot]?.name ?? '') !== false),
  );
  const together = items.every((a, i) =>
    items.every((b, j) => a.group === undefined || a.group !== b.group || areSame(places[i] ?? [], places[j] ?? [])),
  );
  const free = nvlink === 'Ignore';
  const whole = places.every((own) => own.every((i) => own.every((j) => i === j || isJoined(slots, links, i, j, free))));
  const joined = traffic.every(({ a, b, weight }) => {
    const [at, to] = [placeOf(items, places, a), placeOf(items, places, b)];
    const alone = [...at, ...to].some((slot) => slots[slot]?.isolated === true);
    if (weight === 0 || (nvlink !== 'Required' && !alone)) return true;
    return at.every((i) => to.every((j) => i === j || isJoined(slots, links, i, j, free)));
  });
  return fits && pinned && together && whole && joined;
}

function isJoined(slots: Problem['slots'], links: Problem['links'], i: number, j: number, free: boolean): boolean {
  if (slots[i]?.isolated === true || slots[j]?.isolated === true || slots[i]?.node !== slots[j]?.node) return false;
  return free || linkOf(slots, links, i, j) === 'NV';
}

function areSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((slot) => b.includes(slot));
}

function bearable(a: Item, b: Item): boolean {
  if (a.apart?.includes(b.name) === true) return false;
  return a.exclusive !== true || (a.group !== undefined && a.group === b.group);
}

function placeOf(items: readonly Item[], places: Places, name: string): readonly number[] {
  return places[items.findIndex((item) => item.name === name)] ?? [];
}

function linkOf(slots: Problem['slots'], links: Problem['links'], i: number, j: number): keyof typeof hops {
  const [a, b] = [slots[i]?.name, slots[j]?.name];
  return links.find((link) => (link.a === a && link.b === b) || (link.a === b && link.b === a))?.type ?? 'SYS';
}

function costOf(problem: Problem, places: Places): number {
  const { items, slots, traffic, links, current } = problem;
  let cost = 0;
  for (const { a, b, weight } of traffic) {
    const pairs = placeOf(items, places, a).flatMap((i) => placeOf(items, places, b).map((j) => [i, j] as const));
    const nearest = Math.min(...pairs.map(([i, j]) => (i === j ? 0 : hops[linkOf(slots, links, i, j)])));
    if (problem.nvlink !== 'Ignore') cost += weights.traffic * weight * nearest;
  }
  for (const [i, a] of items.entries()) {
    for (const [j, b] of items.entries()) {
      if (j <= i || (a.group !== undefined && a.group === b.group)) continue;
      const shared = (places[i] ?? []).filter((slot) => places[j]?.includes(slot)).length;
      const tiny = a.latency === 'Tiny' || b.latency === 'Tiny';
      cost += weights.interference * shared * (tiny ? 0.3 : a.latency === 'Decode' && b.latency === 'Decode' ? 3 : 2);
    }
    const was = current.get(a.name) ?? [];
    const known = was.length > 0 && was.every((name) => slots.some((slot) => slot.name === name));
    const stays = areSame(
      was.map((name) => slots.findIndex((slot) => slot.name === name)),
      places[i] ?? [],
    );
    if (known && !stays) cost += weights.migration * (a.migrationSeconds ?? 60);
  }
  const shares = slots.flatMap((slot, index) =>
    slot.healthy
      ? [items.reduce((sum, item, i) => sum + (places[i]?.includes(index) === true ? item.bytes : 0), 0) / slot.usableBytes]
      : [],
  );
  return cost + weights.hole * Math.min(...shares) + weights.imbalance * (Math.max(...shares) - Math.min(...shares));
}
