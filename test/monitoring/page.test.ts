// The statements of docs/observability.md and docs/placement.md.
import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { registries, type Registered } from '../../hack/generate/registries.ts';
import { catalogue, relabelled, scraped, ruleGroups, vllmMetrics } from './catalogue.ts';
import { analyse } from './promql.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let page: string;

beforeAll(async () => {
  page = await readFile(`${root}docs/observability.md`, 'utf8');
});

/** Returns names of metrics in the source that registers them. */
function namesIn(source: string): readonly string[] {
  const whole = [...source.matchAll(/'((?:agentfleet|controller_runtime|leader_election|rest_client|workqueue|nodejs)_[a-z0-9_]+)'/g)];
  const keeper = source.includes('`agentfleet_keeper_${name}`') ? [...source.matchAll(/#(?:counter|gauge)\('([a-z_]+)'/g)] : [];
  return [...whole.map(([, name = '']) => name), ...keeper.map(([, name = '']) => `agentfleet_keeper_${name}`)];
}

it('has beside it a list of all metrics that a source registers, with no label that a scrape would overwrite', async () => {
  const list = await readFile(`${root}docs/reference/metrics.md`, 'utf8');
  const found: string[] = [];
  const sources = ['agent-image', 'inference-image', 'operator', 'operator/kube', 'sandbox-image/keeper'].map(
    (part) => `${part}/src/**/*.ts`,
  );
  for await (const path of glob(sources, { cwd: root })) {
    const source = await readFile(`${root}${path}`, 'utf8');
    if (/\.test\.ts$|\/testing\//.test(path) || !/from 'prom-client'|sampledGauge/.test(source)) continue;
    found.push(...namesIn(source));
  }
  expect(found.length).toBeGreaterThan(80);
  expect(found.filter((name) => !list.includes(`| \`${name}\` |`))).toEqual([]);
  const { operator, ...pods } = registries();
  const labels = (metrics: readonly Registered[]): readonly string[] => metrics.flatMap(({ labelNames = [] }) => labelNames);
  expect(labels(operator).filter((label) => scraped.includes(label))).toEqual([]);
  // `model` is given to verifiers only, which have no label of that name.
  const given = new Set<string>([...scraped, ...relabelled]);
  expect(
    Object.values(pods)
      .flatMap(labels)
      .filter((label) => label !== 'model' && given.has(label)),
  ).toEqual([]);
});

it('answers questions by queries of exported metrics', () => {
  const section = page.slice(page.indexOf('## Questions'), page.indexOf('Names that others use'));
  const queries = [...section.matchAll(/\| `([^`]+)` +\|$/gm)].map(([, query = '']) => query);
  expect(queries.length).toBeGreaterThan(10);
  const known = new Map(catalogue());
  expect(queries.flatMap((query) => analyse(query, known).faults.map((fault) => `${query}: ${fault}`))).toEqual([]);
});

it('names every alert and every recorded series, and none that is not there', async () => {
  const rules = (await ruleGroups()).flatMap((group) => group.rules);
  const alerts = rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
  expect([...new Set(page.match(/AgentFleet[A-Z]\w+/g))].toSorted()).toEqual(alerts.toSorted());
  for (const { record } of rules) {
    // Quantiles of one measure are reported together.
    if (record !== undefined && record !== 'fleet:server_track') expect(page).toContain(record.replace(/:p\d\d$/, ''));
  }
});

it('names only exported metrics, and every version that renamed one', () => {
  const known = new Set([...catalogue().keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  const named = [...new Set(page.match(/agentfleet_[a-z_]+(?=[`{])/g))].filter((name) => !name.endsWith('_'));
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  for (const [name, { until }] of Object.entries(vllmMetrics)) {
    if (until === undefined || name.includes('prefix')) continue;
    expect(page).toContain(`until ${until} \`${name.slice('vllm:'.length)}\``);
  }
});

it('is right that no image of ours requests GPUs of a node', async () => {
  const files: string[] = [];
  for await (const path of glob('**/Dockerfile', { cwd: root, exclude: (path) => /(^|\/)(node_modules|\.git)$/.test(path) }))
    files.push(path);
  expect(files.length).toBeGreaterThan(8);
  for (const path of files) {
    const text = await readFile(`${root}${path}`, 'utf8');
    expect(text, path).not.toMatch(/NVIDIA_|CUDA_/);
    // No image of others is used.
    for (const [, from = ''] of text.matchAll(/^FROM +(\S+)/gm)) expect(from, path).toMatch(/^(scratch|\$\{BASE_IMAGE\})$/);
  }
});

it('is asked for whole bounds of buckets in both spellings: Prometheus 3 stores 60 as 60.0', async () => {
  const found: string[] = [];
  for await (const path of glob(['docs/**/*.md', 'charts/agentfleet/files/monitoring/**/*'], { cwd: root })) {
    if (!/\.(?:md|ya?ml|json)$/.test(path)) continue;
    const text = await readFile(`${root}${path}`, 'utf8');
    found.push(...(text.match(/\ble=\\?"\d+\\?"/g) ?? []).map((matcher) => `${path}: ${matcher}`));
  }
  expect(found).toEqual([]);
  const [, matcher = ''] = /queue_seconds_bucket\{le=~"([^"]+)"\}/.exec(await readFile(`${root}docs/operations.md`, 'utf8')) ?? [];
  expect(['60', '60.0', '600', '6000'].filter((bound) => new RegExp(`^(?:${matcher})$`).test(bound))).toEqual(['60', '60.0']);
});
