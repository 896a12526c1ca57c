// hack, generate: reference page of all metrics. May import any package.
import { registries, type Registered } from './registries.ts';

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
