import type { ResultsHead } from '../run/results.ts';
import type { EvalRecord } from '../run/record.ts';
import { comparisonsOf, flakesOf, groupsOf, type Comparison, type Flakes, type Group } from './summary.ts';

export const reportFormat = 'agentfleet.dev/eval-report/v1';

/** All numbers of a run; what is not known is null. */
export interface EvalReport {
  readonly format: typeof reportFormat;
  readonly head: ResultsHead;
  readonly groups: readonly Group[];
  readonly comparisons: readonly Comparison[];
  readonly flakes: Flakes;
}

/** By pack, then by variant as the head names them (the first is what others are compared with), then by task; whatever ended first. */
export function inOrder(head: ResultsHead, records: readonly EvalRecord[]): readonly EvalRecord[] {
  const variants = Object.keys(head.variants);
  const orderOf = ({ pack, variant, task, seed, round }: EvalRecord): string =>
    [pack, String(variants.indexOf(variant)).padStart(4, '0'), task, seed, round].join('\u0000');
  return records.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
}

/** The numbers of results, whatever their order. */
export function reportOf(head: ResultsHead, unordered: readonly EvalRecord[]): EvalReport {
  const records = inOrder(head, unordered);
  return { format: reportFormat, head, groups: groupsOf(records), comparisons: comparisonsOf(records), flakes: flakesOf(records) };
}

const count = { type: 'integer', minimum: 0 };
const known = { type: ['number', 'null'] };
const text = { type: 'string' };
const struct = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties,
});
const bounds = { value: known, low: known, high: known };
const interval = struct(bounds);
const digests = { type: 'object', additionalProperties: { type: 'string', pattern: '^sha256:' } };

/** JSON Schema of the report as it is written. */
export const reportSchema = struct({
  format: { const: reportFormat },
  head: struct({ format: text, pool: text, seed: count, packs: digests, variants: digests }),
  groups: {
    type: 'array',
    items: struct({
      pack: text,
      variant: text,
      attempts: count,
      errors: count,
      solved: interval,
      overfit: count,
      tries: struct({ mean: interval, median: known, p90: known }),
      seconds: struct({ median: known, p95: known }),
      cpuSeconds: known,
      tokens: count,
      vetoes: count,
      backtracks: count,
    }),
  },
  comparisons: {
    type: 'array',
    items: struct({
      first: text,
      second: text,
      pairs: count,
      solved: struct({ onlyFirst: count, onlySecond: count, p: { type: 'number', minimum: 0, maximum: 1 } }),
      difference: interval,
      tries: struct({ ...bounds, pairs: count, fewer: count, more: count }),
    }),
  },
  flakes: struct({ pairs: count, share: interval, tasks: { type: 'array', items: text } }),
});
