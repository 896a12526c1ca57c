import type { Tally } from './auditLog.ts';
import { percentile } from '../report/table.ts';
import type { Timeline } from './tracker.ts';

interface Spread {
  readonly p50: number;
  readonly p99: number;
}

/** Measurements of one run of one subject; one line of JSON. Times in ms unless a name states otherwise. */
export interface Result {
  readonly scenario: string;
  readonly subject: string;
  readonly run: number;
  readonly objects: number;
  /** Created a second; null: all at once. */
  readonly rate: number | null;
  readonly ready: number;
  /** Processes of the subject that ended by themselves; the run ends with the first. */
  readonly ended: number;
  /** Seconds from the first create until the last was ready. */
  readonly seconds: number;
  readonly createToPod: Spread | null;
  readonly createToReady: Spread | null;
  readonly podToObject: Spread | null;
  /** For each object. */
  readonly writes: number;
  readonly reads: number;
  readonly conflicts: number;
  readonly errors: number;
  readonly calls: Readonly<Record<string, number>>;
  /** In the whole run, not for each object. */
  readonly leaseCalls: number;
  /** For 1,000 objects; null where a process was ended. */
  readonly cpuSeconds: number | null;
  readonly rssGrowthMiB: number | null;
  readonly rssMiB: number;
  readonly loopLagP99: number | null;
  /** CPU seconds of each part of the control plane for 1,000 objects, until the last was ready. */
  readonly controlPlane: Readonly<Record<string, number>>;
  /** Unused share of all cores meanwhile, percent: near 0, times describe the machine and not the subject. */
  readonly idlePercent: number;
  /** Of the generator, for 1,000 objects, and how far it was behind. */
  readonly generatorCpuSeconds: number;
  readonly generatorBehind: number;
  readonly recovery: Recovery | null;
  /** Share of one core, in per cent. */
  readonly idleCpuPercent: number | null;
  readonly leftovers: Leftovers;
}

export interface Recovery {
  readonly lost: number;
  readonly duplicated: number;
  /** Seconds after the signal at which the server received a write that it took; null: none came. */
  readonly firstWriteSeconds: number | null;
  readonly allReadySeconds: number;
}

export interface Leftovers {
  readonly objects: number;
  readonly pods: number;
  /** Seconds from the order to delete all until nothing was left. */
  readonly seconds: number;
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits));

/** Middle and tail of values; null for none. Pure. */
export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  return { p50: round(percentile(values, 0.5), 1), p99: round(percentile(values, 0.99), 1) };
}

/** The latencies that a set of courses shows. Pure. */
export function latenciesOf(timelines: Iterable<Timeline>): Pick<Result, 'createToPod' | 'createToReady' | 'podToObject'> {
  const [pods, readies, after]: [number[], number[], number[]] = [[], [], []];
  for (const { created, podCreated, podReady, ready } of timelines) {
    if (podCreated !== undefined) pods.push(podCreated - created);
    if (ready !== undefined) readies.push(ready - created);
    // Two watches: the object may be informed of before its pod.
    if (ready !== undefined && podReady !== undefined) after.push(Math.max(0, ready - podReady));
  }
  return { createToPod: spread(pods), createToReady: spread(readies), podToObject: spread(after) };
}

/** Requests for each object. Pure. */
export function perObject(
  total: Tally,
  objects: number,
): Pick<Result, 'writes' | 'reads' | 'conflicts' | 'errors' | 'calls' | 'leaseCalls'> {
  const each = (count: number): number => round(count / objects, 2);
  const calls = Object.entries(total.calls).map(([call, count]) => [call, each(count)] as const);
  return {
    writes: each(total.writes),
    reads: each(total.reads),
    conflicts: each(total.conflicts),
    errors: each(total.errors),
    calls: Object.fromEntries(calls.toSorted(([, a], [, b]) => b - a)),
    leaseCalls: total.leaseCalls,
  };
}
