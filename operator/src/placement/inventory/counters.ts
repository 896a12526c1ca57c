import { bytesOf } from './quantity.ts';
import type { CounterSet, Device, Gpu } from './resourceSlice.ts';

/** A device that could be a slot, with what it takes of counters that it has together with others. */
export interface Candidate {
  readonly gpu: Gpu;
  readonly device: Device;
}

export interface Apart {
  /** Devices that can all be allocated at once. */
  readonly kept: readonly Gpu[];
  /** The others, each with the reason. */
  readonly left: readonly { readonly gpu: Gpu; readonly message: string }[];
}

/** Slices exist; a board beside them is what they are parts of. Then the biggest, so that a whole board comes before its parts. */
function byClaim(a: Candidate, b: Candidate): number {
  const slice = ({ gpu }: Candidate): number => Number(gpu.mig === undefined);
  return slice(a) - slice(b) || b.gpu.memoryBytes - a.gpu.memoryBytes || (a.gpu.device < b.gpu.device ? -1 : 1);
}

/**
 * Devices of one pool that do not overlap. A driver may publish ways to divide a board that exclude one another, all of which
 * take from the same counters; to add up their memory would give it away several times. Deterministic.
 */
export function withoutOverlap(candidates: readonly Candidate[], sets: readonly CounterSet[]): Apart {
  const rest = new Map(
    sets.flatMap(({ name, counters }) => Object.entries(counters).map(([key, { value }]) => [`${name} ${key}`, bytesOf(value)])),
  );
  const takers = new Map<string, string>();
  const left: { readonly gpu: Gpu; readonly message: string }[] = [];
  for (const candidate of [...candidates].sort(byClaim)) {
    const needs = needsOf(candidate);
    const lack = needs.find(([counter, value]) => value === undefined || value > (rest.get(counter) ?? -1));
    if (lack !== undefined) {
      left.push({ gpu: candidate.gpu, message: lackOf(candidate.gpu, lack, takers, rest.has(lack[0])) });
      continue;
    }
    for (const [counter, value = 0] of needs) {
      rest.set(counter, (rest.get(counter) ?? 0) - value);
      if (value > 0) takers.set(counter, candidate.gpu.device);
    }
  }
  const out = new Set(left.map(({ gpu }) => gpu));
  return { kept: candidates.map(({ gpu }) => gpu).filter((gpu) => !out.has(gpu)), left };
}

type Need = readonly [counter: string, value: number | undefined];

function needsOf({ device }: Candidate): readonly Need[] {
  return (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(([key, { value }]): Need => [`${counterSet} ${key}`, bytesOf(value)]),
  );
}

function lackOf({ device }: Gpu, [counter, value]: Need, takers: ReadonlyMap<string, string>, known: boolean): string {
  const [set = '', key = ''] = counter.split(' ');
  if (value === undefined || !known)
    return `device ${device} takes ${key} of the counters ${set}, of which nothing that is understood is published`;
  const taker = takers.get(counter);
  return taker === undefined
    ? `device ${device} takes more ${key} than the counters ${set} have`
    : `device ${device} overlaps with ${taker}, which is a slot (${key} of the counters ${set}): only one of them can be allocated`;
}
