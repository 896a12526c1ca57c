// hack, bench/report: latencies of calls, and their rows in the table. May import any package.
import { percentile, type Row } from './table.ts';

/** Milliseconds that each call took, one after the other, after some that warm up and do not count. */
export async function latencies(rounds: number, call: (round: number) => Promise<unknown>, warmUp = 20): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let round = -warmUp; round < rounds; round += 1) {
    const began = performance.now();
    await call(round + warmUp);
    if (round >= 0) taken.push(performance.now() - began);
  }
  return taken;
}

export interface Latency {
  readonly measure: string;
  readonly ours: readonly number[];
  readonly peer?: { readonly name: string; readonly values: readonly number[] };
  readonly note?: string;
}

/** Two rows: half of the calls took at most the first figure, 95 of 100 at most the second. */
export function latencyRows({ measure, ours, peer, note }: Latency): readonly Row[] {
  return ([0.5, 0.95] as const).map((share) => ({
    measure: `${measure}, p${share * 100}`,
    ours: percentile(ours, share),
    unit: 'ms',
    ...(peer !== undefined && { peer: { name: peer.name, value: percentile(peer.values, share) } }),
    ...(note !== undefined && share === 0.5 && { note }),
  }));
}
