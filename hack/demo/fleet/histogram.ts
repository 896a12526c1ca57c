/** Buckets of one histogram: upper bound and how many values do not exceed it, ascending; the last bound is infinite. */
export type Buckets = readonly { readonly le: number; readonly count: number }[];

const line = /^(\w+)_bucket\{(.*)\} (\S+)$/;
const label = /(\w+)="([^"]*)"/g;

/** The buckets of a histogram in Prometheus's text, by the value of one label. */
export function bucketsBy(text: string, name: string, by: string): ReadonlyMap<string, Buckets> {
  const found = new Map<string, { le: number; count: number }[]>();
  for (const one of text.split('\n')) {
    const [, metric, labels = '', count = ''] = line.exec(one) ?? [];
    if (metric !== name) continue;
    const values = new Map([...labels.matchAll(label)].map(([, key, value]) => [key, value]));
    const [kind, le] = [values.get(by), values.get('le')];
    if (kind === undefined || le === undefined) continue;
    const buckets = found.get(kind) ?? [];
    found.set(kind, buckets);
    buckets.push({ le: le === '+Inf' ? Infinity : Number(le), count: Number(count) });
  }
  for (const buckets of found.values()) buckets.sort((a, b) => a.le - b.le);
  return found;
}

/** The sum of histograms that have the same bounds: what several servers saw together. */
export function merged(all: readonly Buckets[]): Buckets {
  const counts = new Map<number, number>();
  for (const { le, count } of all.flat()) counts.set(le, (counts.get(le) ?? 0) + count);
  return [...counts].map(([le, count]) => ({ le, count })).sort((a, b) => a.le - b.le);
}

export function countOf(buckets: Buckets): number {
  return buckets.at(-1)?.count ?? 0;
}

/** The least bound that a share of the values does not exceed; undefined without values. Infinite when it lies beyond all bounds. */
export function boundOf(buckets: Buckets, share: number): number | undefined {
  const count = countOf(buckets);
  return count === 0 ? undefined : buckets.find((bucket) => bucket.count >= share * count)?.le;
}
