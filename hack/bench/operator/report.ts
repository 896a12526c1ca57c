import { mean } from '@agentfleet/protocol/stats';
import type { Result } from './result.ts';

interface Measure {
  readonly name: string;
  readonly of: (result: Result) => number | null | undefined;
  readonly unit?: string;
}

const measures: readonly Measure[] = [
  { name: 'create → pod created, p50', of: ({ createToPod }) => createToPod?.p50, unit: 'ms' },
  { name: 'create → pod created, p99', of: ({ createToPod }) => createToPod?.p99, unit: 'ms' },
  { name: 'create → ready, p50', of: ({ createToReady }) => createToReady?.p50, unit: 'ms' },
  { name: 'create → ready, p99', of: ({ createToReady }) => createToReady?.p99, unit: 'ms' },
  { name: 'pod ready → object ready, p99', of: ({ podToObject }) => podToObject?.p99, unit: 'ms' },
  { name: 'all ready after', of: ({ seconds }) => seconds, unit: 's' },
  { name: 'objects that did not become ready', of: ({ objects, ready }) => objects - ready },
  { name: 'processes that ended by themselves', of: ({ ended }) => (ended === 0 ? null : ended) },
  { name: 'writes per object', of: ({ writes }) => writes },
  { name: 'reads per object', of: ({ reads }) => reads },
  { name: '409s per object', of: ({ conflicts }) => conflicts },
  { name: 'CPU per 1,000', of: ({ cpuSeconds }) => cpuSeconds, unit: 's' },
  { name: 'RSS growth per 1,000', of: ({ rssGrowthMiB }) => rssGrowthMiB, unit: 'MiB' },
  { name: 'RSS', of: ({ rssMiB }) => rssMiB, unit: 'MiB' },
  { name: 'event-loop lag, p99', of: ({ loopLagP99 }) => loopLagP99, unit: 'ms' },
  { name: 'lost', of: ({ recovery }) => recovery?.lost },
  { name: 'duplicated', of: ({ recovery }) => recovery?.duplicated },
  { name: 'first write after the signal', of: ({ recovery }) => recovery?.firstWriteSeconds, unit: 's' },
  { name: 'all ready after the signal', of: ({ recovery }) => recovery?.allReadySeconds, unit: 's' },
  { name: 'CPU at rest', of: ({ idleCpuPercent }) => idleCpuPercent, unit: '% of a core' },
  { name: 'left after deletion', of: ({ leftovers }) => leftovers.objects + leftovers.pods },
  { name: 'nothing left after', of: ({ leftovers }) => leftovers.seconds, unit: 's' },
  { name: 'CPU of the API server per 1,000', of: ({ controlPlane }) => controlPlane['kube-apiserver'], unit: 's' },
  { name: 'CPU of the whole control plane per 1,000', of: ({ controlPlane }) => sumOf(Object.values(controlPlane)), unit: 's' },
  { name: 'cores that nobody used until all were ready', of: ({ idlePercent }) => idlePercent, unit: '%' },
  { name: 'CPU of the generator per 1,000', of: ({ generatorCpuSeconds }) => generatorCpuSeconds, unit: 's' },
];

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Undefined for none: nothing was measured then. */
function sumOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : sum(values);
}

function figure(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Mean over the runs of a subject; undefined where nothing was measured. */
function over(results: readonly Result[], { of }: Measure): number | undefined {
  const values = results.map(of).filter((value): value is number => typeof value === 'number');
  return values.length === 0 ? undefined : mean(values);
}

function cell(value: number | undefined, first: number | undefined): string {
  if (value === undefined) return '';
  const ratio = first === undefined || value === 0 || first === 0 ? '' : ` (${(first / value).toFixed(2)}×)`;
  return `${figure(value)}${ratio}`;
}

function headline({ scenario, objects, rate }: Result): string {
  const names: Readonly<Record<string, string>> = {
    warm: 'sandboxes that wait are claimed',
    kill: 'the leader is killed at half',
    term: 'the leader is asked to end at half',
  };
  const pace = rate === null ? 'all at once' : `${rate} a second`;
  return [`**${scenario}**: ${objects} objects, ${pace}`, names[scenario]].filter((part) => part !== undefined).join('; ');
}

/**
 * One table for each scenario. The first subject is ours; figures are means over its runs. In brackets ours / theirs:
 * less than 1 means that ours is less. Pure.
 */
export function report(results: readonly Result[]): string {
  const parts: string[] = [];
  for (const scenario of new Set(results.map((one) => one.scenario))) {
    const here = results.filter((one) => one.scenario === scenario);
    const subjects = [...new Set(here.map(({ subject }) => subject))];
    const of = (subject: string): readonly Result[] => here.filter((one) => one.subject === subject);
    const [first] = here;
    if (first === undefined) continue;
    const rows = measures.flatMap((measure) => {
      const values = subjects.map((subject) => over(of(subject), measure));
      if (values.every((value) => value === undefined)) return [];
      const cells = values.map((value, index) => cell(value, index === 0 ? undefined : values[0]));
      return [`| ${measure.name}${measure.unit === undefined ? '' : `, ${measure.unit}`} | ${cells.join(' | ')} |`];
    });
    const runs = Math.max(...subjects.map((subject) => of(subject).length));
    parts.push(`${headline(first)}; ${runs} run${runs === 1 ? '' : 's'} of each.`, '');
    parts.push(`| Measure | ${subjects.join(' | ')} |`, `|---|${subjects.map(() => '---|').join('')}`, ...rows, '');
    parts.push(...subjects.map((subject) => `Calls per object, ${subject}: ${callsOf(of(subject))}.`), '');
  }
  return parts.join('\n');
}

function callsOf(results: readonly Result[]): string {
  const all = new Set(results.flatMap(({ calls }) => Object.keys(calls)));
  const means = [...all].map((call) => [call, mean(results.map(({ calls }) => calls[call] ?? 0))] as const);
  const frequent = means.filter(([, count]) => count >= 0.005).toSorted(([, a], [, b]) => b - a);
  return frequent.map(([call, count]) => `${call} ${figure(count)}`).join(', ') || 'none';
}
