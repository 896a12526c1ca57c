import type { Assignment, Inventory, Place } from './model/index.ts';
import type { Architecture, NvlinkRule, Solution } from '../../placement/index.ts';

/** What vLLM shares out: heads evenly, and heads of keys and values too, or each of them to several GPUs. */
function divides(shards: number, heads: number, kvHeads: number): boolean {
  return heads % shards === 0 && (kvHeads % shards === 0 || shards % kvHeads === 0);
}

const mostShards = 8;

/** Why so many GPUs cannot share a model, with the cure; undefined: they can. Pure. */
export function indivisible({ kvHeads }: Architecture, heads: number, shards: number): string | undefined {
  if (divides(shards, heads, kvHeads)) return undefined;
  const counts = Array.from({ length: mostShards }, (_, index) => index + 1).filter((count) => divides(count, heads, kvHeads));
  const of = kvHeads === heads ? `${heads} (num_attention_heads)` : `${heads} and ${kvHeads} (num_attention_heads, num_key_value_heads)`;
  return `engine.vLLM.tensorParallel is ${shards}, and the heads of its config.json are ${of}: take one of ${counts.join(', ')}`;
}

/**
 * Slots that may be of a group, of those that come into question. Numbers of GPUs that a device plugin counts are no boards:
 * which ones pods get is its own choice, so that all of such a node have to be joined. Pure.
 */
export function joinable(slots: readonly string[] | undefined, { slots: known, links }: Inventory, nvlink: NvlinkRule): readonly string[] {
  const among = known.filter(({ name }) => slots?.includes(name) !== false);
  const unknown = slots?.filter((slot) => known.every(({ name }) => name !== slot)) ?? [];
  if (nvlink === 'Ignore') return [...unknown, ...among.map(({ name }) => name)];
  const joined = new Set(links.flatMap(({ a, b, type }) => (type === 'NV' ? [`${a} ${b}`, `${b} ${a}`] : [])));
  const whole = (node: string): boolean => {
    const names = known.filter((slot) => slot.node === node).map(({ name }) => name);
    return names.every((a, index) => names.slice(index + 1).every((b) => joined.has(`${a} ${b}`)));
  };
  return [...unknown, ...among.filter(({ node, counted }) => !counted || whole(node)).map(({ name }) => name)];
}

/** Slots of each item. */
export function slotsByItem(places: readonly Pick<Place, 'item' | 'slot'>[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { item, slot } of places) found.set(item, [...(found.get(item) ?? []), slot]);
  return found;
}

/** Items that span several slots of which one cannot be used, and that got no place: they wait where they are, as a whole. Pure. */
export function waitingGroups(held: readonly Assignment[], found: ReadonlyMap<string, unknown>, { slots }: Inventory): ReadonlySet<string> {
  const faulty = new Set(slots.filter(({ fault }) => fault !== undefined).map(({ name }) => name));
  const groups = [...slotsByItem(held)].filter(([item, own]) => own.length > 1 && !found.has(item) && own.some((slot) => faulty.has(slot)));
  return new Set(groups.map(([item]) => item));
}

/** The solution of all but those that wait, with what was said about these in `first`. */
export function withRefusals(solution: Solution, first: Solution, isWaiting: (name: string) => boolean): Solution {
  return {
    ...solution,
    feasible: false,
    unplaced: [...first.unplaced.filter(isWaiting), ...solution.unplaced],
    rejections: [...first.rejections.filter(({ item }) => isWaiting(item)), ...solution.rejections],
    proved: first.proved && solution.proved,
    steps: first.steps + solution.steps,
  };
}

/** An engine on several slots starts on all of them, or waits: one of them that has to wait keeps the others back. Pure. */
export function admittedAsOne(assignments: readonly Assignment[]): readonly Assignment[] {
  const waiting = new Set(assignments.filter(({ admitted }) => !admitted).map(({ item }) => item));
  return assignments.map((place) => (place.admitted && waiting.has(place.item) ? { ...place, admitted: false } : place));
}

/** By item, then by slot: what is published and what pods name has one order. */
export function inOrderOfItems<T extends Pick<Place, 'item' | 'slot'>>(a: T, b: T): number {
  if (a.item !== b.item) return a.item < b.item ? -1 : 1;
  return a.slot === b.slot ? 0 : a.slot < b.slot ? -1 : 1;
}
