import { createTransport, silentLog, systemClock } from '@agentfleet/kube';
import { Registry } from 'prom-client';
import { createMetrics } from '../../agent-image/src/http/metrics.ts';
import { InferenceMetrics } from '../../inference-image/src/base/metrics.ts';
import { GatewayMetrics } from '../../inference-image/src/gateway/metrics.ts';
import { readConfig } from '../../operator/src/config.ts';
import { registerProcessMetrics } from '../../operator/src/metrics/eventLoop.ts';
import { createOperator } from '../../operator/src/start.ts';
import { KeeperMetrics } from '../../sandbox-image/keeper/src/keeper/metrics.ts';
import { conditionTypes, reasonGroups } from '@agentfleet/protocol/api';
import { keeperErrors } from '@agentfleet/protocol/keeper';
import { processErrors } from '@agentfleet/protocol/log';

/** The types of conditions and the reasons that programs match on, as sorted Markdown tables. */
export function reasonsPage(): string {
  return [
    '<!-- Made by `npm run generate` from protocol/src/api/reasons/. -->',
    '# Conditions and reasons',
    '',
    'Conditions of the objects, then the reasons of conditions, of events, of attempts (`status.attempts[].reason`,',
    '`status.run.outcome.reason`) and of rollouts. The message beside a reason says which object it is about and what helps there.',
    'Each reason is listed once, also where it is given about several things.',
    '',
    'Reasons that begin with `Keeper` and are not listed here are refusals of the keeper: `KeeperStoreFull` is `AF_STORE_FULL` of the',
    '[errors of the keeper](keeper-errors.md). Reasons that Kubernetes gives for a pod that has no node are passed on as they are.',
    '',
    ...Object.entries(conditionTypes).flatMap(([kind, types]) => [
      `## Conditions of ${kind}`,
      '',
      '| Type | Meaning |',
      '|---|---|',
      ...sorted(types).map(([type, meaning]) => `| \`${type}\` | ${meaning} |`),
      '',
    ]),
    ...Object.entries(reasonGroups).flatMap(([title, entries]) => [
      `## Reasons: ${title}`,
      '',
      '| Reason | Meaning | Cure |',
      '|---|---|---|',
      ...sorted<readonly [string, string?]>(entries).map(([reason, [meaning, cure = '']]) => `| \`${reason}\` | ${meaning} | ${cure} |`),
      '',
    ]),
  ].join('\n');
}

/** Sorts by name. */
function sorted<T>(entries: Readonly<Record<string, T>>): readonly (readonly [string, T])[] {
  return Object.entries(entries).sort(([a], [b]) => a.localeCompare(b, 'en'));
}

/** The catalogue of the keeper's refusals as a Markdown table. */
export function keeperErrorsPage(): string {
  const rows = Object.entries(keeperErrors).map(([code, { status, cure }]) => `| \`${code}\` | ${status} | ${cure} |`);
  return [
    '<!-- Made by `npm run generate` from protocol/src/keeper/errors.ts. -->',
    '# Errors of the keeper',
    '',
    'Every refusal is `{"error": {"code", "message", "cure"}}`; the message names what and where.',
    '',
    '| Code | HTTP | Cure |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Returns the catalogue of errors in the logs of operator and workers, as a Markdown table. */
export function processErrorsPage(): string {
  const rows = Object.entries(processErrors).map(([code, { process, when, cure }]) => `| \`${code}\` | ${process} | ${when} | ${cure} |`);
  return [
    '<!-- Made by `npm run generate` from protocol/src/log/processErrors.ts. -->',
    '# Errors in the logs of operator and worker',
    '',
    'A line of level `error` has `code` and, but for those of the controller runtime, `cure`. What goes wrong with a task, pool or model stands',
    'in its conditions instead: [reasons.md](reasons.md).',
    '',
    '| Code | Process | When | Cure |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

const parts = {
  operator: ['The operator', 'Job `…/agentfleet-operator`. Counters and histograms are those of the leader.'],
  worker: ['Workers', 'With the label `pool`.'],
  inference: ['Experts and verifiers', 'With the labels `pool`, `expert` and `revision`, or `model` and `revision`.'],
  gateway: ['Model gateways', 'With the label `pool`; `model` is the name of the expert in `spec.experts` of the pool.'],
  keeper: [
    'Keepers of sandboxes',
    'Port 7070 of the pod of a sandbox; no PodMonitor of the chart scrapes them, as each lives for one task.',
  ],
} as const;

/** Default metrics of Node.js; the same in all processes that export them. */
const isDefault = ({ name }: Registered): boolean => /^(?:nodejs|process)_/.test(name);

/** Returns all metrics of the processes, as Markdown tables by process. */
export function metricsPage(): string {
  const all = registries();
  const defaults = new Map([...all.worker, ...all.operator].filter(isDefault).map((metric) => [metric.name, metric]));
  return [
    '<!-- Made by `npm run generate` from the registries of the processes. -->',
    '# Metrics',
    '',
    'What each process exports at `/metrics`, by what is registered in its code. A histogram `x` is the series `x_bucket`, `x_sum` and `x_count`.',
    'Those with exemplars name a trace in each bucket, where tasks are traced and the scrape asks for OpenMetrics.',
    'How they are scraped, the recorded series `fleet:*`, and questions with their queries: [observability.md](../observability.md).',
    '',
    ...Object.entries(parts).flatMap(([part, [title, text]]) => [
      `## ${title}`,
      '',
      text,
      '',
      ...table(all[part as keyof typeof parts].filter((metric) => !isDefault(metric))),
    ]),
    '## Node.js',
    '',
    'Of the operator and of workers.',
    '',
    ...table([...defaults.values()]),
  ].join('\n');
}

function table(metrics: readonly Registered[]): readonly string[] {
  const rows = metrics
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
    .map(({ name, type, labelNames = [], help, enableExemplars = false }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type}${enableExemplars ? ', exemplars' : ''} | ${labels} | ${help.replaceAll('|', '\\|').replace(/(?<![.])$/, '.')} |`;
    });
  return ['| Metric | Type | Labels | Is |', '|---|---|---|---|', ...rows, ''];
}

export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** A metric as a registry has it. */
export interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly labelNames?: readonly string[];
  readonly enableExemplars?: boolean;
}

const metricsOf = (registry: Registry): readonly Registered[] => registry.getMetricsAsArray() as unknown as readonly Registered[];

/** Metrics of all processes, in registries that are made as each process makes its own; nothing runs. */
export function registries(): Readonly<Record<'operator' | 'worker' | 'inference' | 'gateway' | 'keeper', readonly Registered[]>> {
  return {
    operator: metricsOf(operatorRegistry()),
    worker: metricsOf(createMetrics().registry),
    inference: metricsOf(
      new InferenceMetrics(
        () => 0,
        () => true,
      ).registry,
    ),
    gateway: metricsOf(new GatewayMetrics(() => new Map()).registry),
    keeper: metricsOf(
      new KeeperMetrics({
        storeBytes: () => Promise.resolve(0),
        quotaUsed: () => 0,
        quotaLimit: () => null,
        linkConnections: () => 0,
        egressParked: () => 0,
        egressOpen: () => 0,
        collected: () => ({ removed: 0, collections: 0, failures: 0, freedBytes: 0 }),
        ready: () => true,
      }).registry,
    ),
  };
}

function operatorRegistry(): Registry {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const config = readConfig({
    POD_NAMESPACE: 'agentfleet-system',
    POD_NAME: 'operator-0',
    ...Object.fromEntries(['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, 'example.com/image:1'])),
  });
  const transport = createTransport(
    { server: 'http://127.0.0.1:9', credentials: () => Promise.reject(new Error('nothing is asked')) },
    { userAgent: 'test', registry, clock: systemClock, log: silentLog },
  );
  createOperator({ config, transport, identity: 'test', clock: systemClock, random: () => 0, log: silentLog, registry });
  return registry;
}
