// hack, bench/report: table of figures beside those of a peer. May import any package.
/** One line of the table: what was measured, our figure, and the peer's in the same run. */
export interface Row {
  readonly measure: string;
  readonly ours: number;
  readonly unit: 'ms' | 's' | 'MiB' | 'tries';
  /** Alternative that a user would pick instead, measured in this run. */
  readonly peer?: { readonly name: string; readonly value: number };
  readonly note?: string;
}

/** Renders rows as a Markdown table; the ratio is peer / ours, so more than 1 means that ours is better. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ measure, ours, unit, peer, note }) => {
    const other = peer === undefined ? '' : `${peer.name}: ${figure(peer.value)} ${unit}`;
    const ratio = peer === undefined ? '' : `${(peer.value / ours).toFixed(2)}×`;
    return `| ${measure} | ${figure(ours)} ${unit} | ${other} | ${ratio} | ${note ?? ''} |`;
  });
  return ['| Measure | Ours | Beside it | Beside it / ours | Note |', '|---|---|---|---|---|', ...lines].join('\n');
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The least value that a share of all values does not exceed (nearest rank). NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

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
