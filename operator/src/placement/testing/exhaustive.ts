import { defaultHeadroom, weights, type Item, type Problem } from '../solver/index.ts';

const hops = { NV: 1, PIX: 3, PXB: 3, PHB: 6, NODE: 6, SYS: 10 } as const;

/** The least cost of all placements of items with one shard, found by trying all of them; undefined when none fits. */
export function exhaustiveCost(problem: Problem): number | undefined {
  const { items, slots } = problem;
  let best: number | undefined;
  const total = slots.length ** items.length;
  for (let code = 0; code < total; code += 1) {
    const places = items.map((_, index) => Math.floor(code / slots.length ** index) % slots.length);
    if (!allowed(problem, places)) continue;
    const cost = costOf(problem, places);
    if (best === undefined || cost < best) best = cost;
  }
  return best;
}

function allowed({ items, slots, nvlink, links, traffic, headroom = defaultHeadroom }: Problem, places: readonly number[]): boolean {
  const fits = slots.every((slot, index) => {
    const tenants = items.filter((_, item) => places[item] === index);
    const bytes = tenants.reduce((sum, item) => sum + item.bytes, 0);
    if (tenants.length > 0 && !slot.healthy) return false;
    if (bytes > Math.floor(slot.usableBytes * (1 - (tenants.length > 1 ? headroom.shared : headroom.exclusive)))) return false;
    return tenants.every((a) => tenants.every((b) => a === b || (bearable(a, b) && bearable(b, a))));
  });
  const pinned = items.every((item, index) => item.slots === undefined || item.slots.includes(slots[places[index] ?? -1]?.name ?? ''));
  const together = items.every((a, i) => items.every((b, j) => a.group === undefined || a.group !== b.group || places[i] === places[j]));
  const joined = traffic.every(({ a, b, weight }) => {
    const [i, j] = [placeOf(items, places, a), placeOf(items, places, b)];
    if (weight === 0 || i === j) return true;
    if (slots[i]?.isolated === true || slots[j]?.isolated === true) return false;
    return nvlink !== 'Required' || linkOf(slots, links, i, j) === 'NV';
  });
  return fits && pinned && together && joined;
}

function bearable(a: Item, b: Item): boolean {
  if (a.apart?.includes(b.name) === true) return false;
  return a.exclusive !== true || (a.group !== undefined && a.group === b.group);
}

function placeOf(items: readonly Item[], places: readonly number[], name: string): number {
  return places[items.findIndex((item) => item.name === name)] ?? -1;
}

function linkOf(slots: Problem['slots'], links: Problem['links'], i: number, j: number): keyof typeof hops {
  const [a, b] = [slots[i]?.name, slots[j]?.name];
  return links.find((link) => (link.a === a && link.b === b) || (link.a === b && link.b === a))?.type ?? 'SYS';
}

function costOf(problem: Problem, places: readonly number[]): number {
  const { items, slots, traffic, links, current } = problem;
  let cost = 0;
  for (const { a, b, weight } of traffic) {
    const [i, j] = [placeOf(items, places, a), placeOf(items, places, b)];
    if (i !== j && problem.nvlink !== 'Ignore') cost += weights.traffic * weight * hops[linkOf(slots, links, i, j)];
  }
  for (const [i, a] of items.entries()) {
    for (const [j, b] of items.entries()) {
      if (j <= i || places[i] !== places[j] || (a.group !== undefined && a.group === b.group)) continue;
      const tiny = a.latency === 'Tiny' || b.latency === 'Tiny';
      cost += weights.interference * (tiny ? 0.3 : a.latency === 'Decode' && b.latency === 'Decode' ? 3 : 2);
    }
    const was = current.get(a.name)?.[0];
    if (was !== undefined && slots.some((slot) => slot.name === was) && was !== slots[places[i] ?? -1]?.name)
      cost += weights.migration * (a.migrationSeconds ?? 60);
  }
  const shares = slots.flatMap((slot, index) =>
    slot.healthy ? [items.reduce((sum, item, i) => sum + (places[i] === index ? item.bytes : 0), 0) / slot.usableBytes] : [],
  );
  return cost + weights.hole * Math.min(...shares) + weights.imbalance * (Math.max(...shares) - Math.min(...shares));
}
