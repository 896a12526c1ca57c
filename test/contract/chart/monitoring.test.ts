// The chart's objects for the Prometheus operator and Grafana: off by default, and in their format.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { up, type Cluster } from '../../../hack/cluster/index.ts';
import { chart, chartValues, release } from '../../../hack/install/index.ts';
import { Kubectl } from '../../../hack/sandbox/index.ts';
import { scraperAccount, scraperKeys } from '../../../operator/src/metrics/scraperTokens.ts';
import { readConfig } from '../../../operator/src/config.ts';
import { parseSettings } from '../../../operator/src/runtime/settings.ts';
import { analyse } from '../../monitoring/promql.ts';
import { relabelled, dashboards, ruleGroups, type Group } from '../../monitoring/catalogue.ts';
import { one, render, type Manifest } from './rendered.ts';

type DataMap = Manifest & { readonly data: Readonly<Record<string, string>> };

interface Endpoint {
  readonly port: string;
  readonly path: string;
  readonly relabelings?: readonly {
    readonly sourceLabels: readonly string[];
    readonly targetLabel: string;
    readonly separator?: string;
    readonly regex?: string;
  }[];
}
interface PodMonitor {
  readonly namespaceSelector?: { readonly any: boolean };
  readonly selector: { readonly matchExpressions?: readonly { readonly values: readonly string[] }[] };
  readonly podMetricsEndpoints: readonly Endpoint[];
}

const namespace = `chart-${randomBytes(3).toString('hex')}`;
let cluster: Cluster;
const rendered = (values: object = {}): Promise<readonly Manifest[]> => render(cluster.bin('helm'), namespace, { ...values });
const kinds = new Set(['PodMonitor', 'PrometheusRule', 'ConfigMap']);
const ours = (all: readonly Manifest[]): readonly string[] =>
  all.filter(({ kind }) => kinds.has(kind)).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
const groupsOf = (all: readonly Manifest[]): readonly Group[] =>
  (one(all, 'PrometheusRule', 'agentfleet').spec as unknown as { readonly groups: readonly Group[] }).groups;

beforeAll(async () => {
  cluster = await up({ tier: 'control-plane', log: () => undefined });
});

it('renders nothing of it by default, and each part separately', async () => {
  expect(ours(await rendered())).toEqual([]);
  expect(ours(await rendered({ podMonitor: { enabled: true } }))).toEqual(['PodMonitor/agentfleet-operator']);
  expect(ours(await rendered({ podMonitor: { pools: true } }))).toEqual([]);
  expect(ours(await rendered({ prometheusRule: { enabled: true } }))).toEqual(['PrometheusRule/agentfleet']);
  expect(ours(await rendered({ dashboards: { enabled: true } })).toSorted()).toEqual(
    ['engines', 'fleet', 'gpus'].map((name) => `ConfigMap/agentfleet-dashboard-${name}`),
  );
});

/** A server that answers as far as Helm asks before it renders: it serves namespaces, and no kind of the Prometheus operator. */
async function bareServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const namespaces = [{ name: 'namespaces', singularName: 'namespace', kind: 'Namespace', namespaced: false, verbs: ['get'] }];
  const answers: Readonly<Record<string, object>> = {
    '/version': { major: '1', minor: '33', gitVersion: 'v1.33.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
    '/api/v1': { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'v1', resources: namespaces },
    '/api/v1/namespaces/kube-system': { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system' } },
  };
  const server = createServer(({ url = '' }, response) => {
    const answer = answers[url.split('?')[0] ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = promisify(server.close.bind(server));
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
}

it.for([
  ['prometheusRule.enabled', { prometheusRule: { enabled: true } }],
  ['podMonitor.enabled', { podMonitor: { enabled: true } }],
] as const)('stops with a cure where the cluster does not know the kinds of %s', async ([value, values]) => {
  await using server = await bareServer();
  const folder = await mkdtemp(join(tmpdir(), 'helm-'));
  const kubeconfig = join(folder, 'config');
  const entry = {
    clusters: [{ name: 'a', cluster: { server: server.url } }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: '' } }],
  };
  await writeFile(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...entry, 'current-context': 'a' }));
  const args = ['template', release, chart, '--dry-run=server', `--kubeconfig=${kubeconfig}`, '--values=-'];
  const input = JSON.stringify({ ...chartValues({ image: (name) => name }), ...values });
  const cure = new RegExp(
    `${value} is true, and the cluster does not know .* install the Prometheus operator first, or set ${value}=false`,
  );
  await expect(execa(cluster.bin('helm'), args, { input })).rejects.toThrow(cure);
  await rm(folder, { recursive: true });
});

it.for([
  ['a namespace that is none', { podMonitor: { prometheusNamespace: 'a b' } }],
  ['an unknown value of rules', { prometheusRule: { rules: [] } }],
  ['a receiver of traces that is none', { tracing: { endpoint: 'collector:4318' } }],
  ['a share of traces above all', { tracing: { sampleRatio: 2 } }],
  ['a label that is no text', { dashboards: { labels: { grafana_dashboard: 1 } } }],
] as const)('refuses %s', async ([, values]) => {
  await expect(rendered(values)).rejects.toThrow(/don't meet the specifications of the schema/);
});

interface Deployment {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly env: readonly { name: string; value?: string }[] }[] } };
  };
}

it('sends traces only where a receiver is named: of the operator, and of its operands', async () => {
  const environment = async (values: object): Promise<ReadonlyMap<string, string>> => {
    const deployment = one(await rendered(values), 'Deployment', 'agentfleet-operator') as unknown as Deployment;
    return new Map((deployment.spec.template.spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [name, value]));
  };
  const tracing = { endpoint: 'http://collector.monitoring.svc:4318', sampleRatio: 0.1 };
  const [quiet, traced] = [await environment({}), await environment({ tracing })];
  expect([quiet.has('OTEL_EXPORTER_OTLP_ENDPOINT'), parseSettings(quiet.get('AGENTFLEET_OPERANDS') ?? '').tracing]).toEqual([
    false,
    undefined,
  ]);
  expect([traced.get('OTEL_EXPORTER_OTLP_ENDPOINT'), traced.get('OTEL_TRACES_SAMPLER_ARG')]).toEqual([tracing.endpoint, '0.1']);
  expect(parseSettings(traced.get('AGENTFLEET_OPERANDS') ?? '').tracing).toEqual(tracing);
});

describe('rules', () => {
  it('are rendered unchanged from the files; those of engines only where engines are scraped', async () => {
    const whole = { podMonitor: { enabled: true, pools: true }, prometheusRule: { enabled: true, labels: { release: 'prom' } } };
    const all = await rendered(whole);
    expect(one(all, 'PrometheusRule', 'agentfleet').metadata.labels).toMatchObject({ release: 'prom' });
    const groups = groupsOf(all);
    const byName = (found: readonly Group[]): readonly Group[] => found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(byName(groups)).toEqual(byName(await ruleGroups()));
    const few = groupsOf(await rendered({ ...whole, podMonitor: { enabled: true } }));
    expect(groups.map(({ name }) => name).filter((name) => !few.some((group) => group.name === name))).toEqual([
      'agentfleet-fleet',
      'agentfleet-engines',
    ]);
    const pages = 'https://git.example.com/docs/runbooks';
    const moved = groupsOf(await rendered({ prometheusRule: { enabled: true, runbooks: `${pages}/` } })).flatMap(({ rules }) => rules);
    const named = moved.filter(({ alert }) => alert !== undefined);
    expect(named.length).toBeGreaterThan(20);
    for (const { alert, annotations } of named) expect(annotations?.['runbook_url']).toBe(`${pages}/${alert}.md`);
    // The rest uses no metric that only pools export.
    const metrics = few.flatMap(({ rules }) => rules.flatMap(({ expr }) => [...analyse(expr, new Map()).metrics]));
    expect(metrics.filter((name) => /^(fleet:|vllm:|agentfleet_(worker|inference)_)/.test(name))).toEqual([]);
  });

  it('have the shape that the Prometheus operator takes', async () => {
    const fields = new Set(['alert', 'record', 'expr', 'for', 'labels', 'annotations']);
    for (const { rules } of await ruleGroups())
      for (const rule of rules) {
        expect(Object.keys(rule).filter((field) => !fields.has(field))).toEqual([]);
        expect([rule.alert, rule.record].filter((name) => name !== undefined)).toHaveLength(1);
        if (rule.for !== undefined) expect(rule.for).toMatch(/^\d+[mh]$/);
        if (rule.record !== undefined) expect(rule.record).toMatch(/^[a-z_:][a-z0-9_:]*$/);
        for (const text of [...Object.values(rule.labels ?? {}), ...Object.values(rule.annotations ?? {})])
          expect(typeof text).toBe('string');
      }
  });
});

describe('scraped pods', () => {
  it('has the labels by which rules know pools, models, experts and revisions', async () => {
    const all = await rendered({ podMonitor: { enabled: true, pools: true, interval: '15s' } });
    const { podMetricsEndpoints, namespaceSelector, selector } = one(all, 'PodMonitor', 'agentfleet-pools').spec as unknown as PodMonitor;
    expect(namespaceSelector).toEqual({ any: true });
    expect(selector.matchExpressions?.[0]?.values).toEqual(['worker', 'expert', 'verifier', 'gateway']);
    expect(podMetricsEndpoints.map(({ port, path }) => `${port}${path}`)).toEqual(['http/metrics', 'engine/metrics']);
    for (const { relabelings = [] } of podMetricsEndpoints) {
      expect(relabelings.map(({ targetLabel }) => targetLabel).toSorted()).toEqual([...relabelled].toSorted());
      const pool = relabelings.find(({ targetLabel }) => targetLabel === 'pool');
      const from = (label: string): string =>
        new Map([
          ['__meta_kubernetes_namespace', 'platform'],
          ['__meta_kubernetes_pod_label_agentfleet_dev_pool', 'coding'],
        ]).get(label) ?? '';
      const joined = pool?.sourceLabels.map(from).join(pool.separator);
      expect(joined).toBe('platform/coding');
      expect(new RegExp(`^(?:${pool?.regex})$`).exec(joined ?? '')?.[1]).toBe('platform/coding');
      // A pod outside of a pool has no such label.
      expect(new RegExp(`^(?:${pool?.regex})$`).test('platform/')).toBe(false);
    }
  });

  it('is asked with tokens that the operator renews, in a Secret that it may change and no other', async () => {
    const all = await rendered({ podMonitor: { enabled: true, pools: true } });
    const tokens = (name: string): readonly unknown[] =>
      (one(all, 'PodMonitor', name).spec as unknown as PodMonitor).podMetricsEndpoints.map(
        (endpoint) => (endpoint as { authorization?: unknown }).authorization,
      );
    const token = (key: string) => ({ type: 'Bearer', credentials: { name: 'agentfleet-metrics-tokens', key } });
    expect(tokens('agentfleet-operator')).toEqual([token(scraperKeys.operator)]);
    expect(tokens('agentfleet-pools')).toEqual([token(scraperKeys.pools), token(scraperKeys.pools)]);
    expect((one(all, 'Role', 'agentfleet-metrics-tokens') as { rules?: unknown }).rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['agentfleet-metrics-tokens'], verbs: ['patch'] },
    ]);
    for (const [kind, name] of [
      ['ServiceAccount', scraperAccount],
      ['Secret', 'agentfleet-metrics-tokens'],
    ] as const)
      expect(one(all, kind, name)).toBeDefined();
    // Without PodMonitors there is no such Secret, and the operator changes none.
    const without = await rendered({});
    expect(without.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name)).toEqual(['agentfleet-results-tls']);
    const rules = without.flatMap(({ rules = [] }) => rules).filter(({ resources = [] }) => resources.includes('secrets'));
    const ofResults = ({ resourceNames = [] }: { readonly resourceNames?: readonly string[] }) =>
      resourceNames.includes('agentfleet-results-tls');
    expect(rules.filter(ofResults).flatMap(({ verbs }) => verbs)).toEqual(['get', 'update']);
    expect(
      rules
        .filter((rule) => !ofResults(rule))
        .flatMap(({ verbs }) => verbs)
        .toSorted(),
    ).toEqual(['create', 'delete']);
  });

  it('is for the readers that the chart names', async () => {
    const readersOf = async (values: object): Promise<readonly string[] | undefined> => {
      const [container] = one(await rendered(values), 'Deployment', 'agentfleet-operator').spec!.template!.spec.containers;
      const env = Object.fromEntries(container!.env.map(({ name, value = name }) => [name, value]));
      const { AGENTFLEET_METRICS_READERS: readers = '', AGENTFLEET_METRICS_SECRET: secret = '' } = env;
      const images = Object.fromEntries(['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, 'a:1']));
      const given = {
        ...images,
        POD_NAME: 'a',
        POD_NAMESPACE: 'b',
        AGENTFLEET_METRICS_READERS: readers,
        AGENTFLEET_METRICS_SECRET: secret,
      };
      return readConfig(given).metricsReaders?.map((subject) =>
        subject.replace(/^(system:serviceaccount:)[^:]+(:agentfleet-metrics)$/, '$1*$2'),
      );
    };
    const metrics = { readers: [{ namespace: 'monitoring', serviceAccount: 'prometheus-k8s' }] };
    expect(await readersOf({})).toEqual([]);
    expect(await readersOf({ podMonitor: { enabled: true }, metrics })).toEqual([
      'system:serviceaccount:*:agentfleet-metrics',
      'system:serviceaccount:monitoring:prometheus-k8s',
    ]);
  });

  it('is let in by the operator when the namespace of Prometheus is named', async () => {
    const environment = async (values: object): Promise<Readonly<Record<string, string>>> => {
      const [container] = one(await rendered(values), 'Deployment', 'agentfleet-operator').spec!.template!.spec.containers;
      return Object.fromEntries(container!.env.map(({ name, value = name }) => [name, value.toLowerCase()]));
    };
    const named = await environment({ podMonitor: { prometheusNamespace: 'monitoring' } });
    expect(named['AGENTFLEET_PROMETHEUS_NAMESPACE']).toBe('monitoring');
    expect(await environment({})).not.toHaveProperty('AGENTFLEET_PROMETHEUS_NAMESPACE');
    const { AGENTFLEET_PROMETHEUS_NAMESPACE: own = '' } = named;
    const images = Object.fromEntries(['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, 'a:1']));
    expect(readConfig({ ...images, POD_NAME: 'a', POD_NAMESPACE: 'b', AGENTFLEET_PROMETHEUS_NAMESPACE: own }).prometheusNamespace).toBe(
      'monitoring',
    );
  });
});

it('gives Grafana the dashboards of the files, with the label that its sidecar looks for', async () => {
  const all = await rendered({ dashboards: { enabled: true, annotations: { grafana_folder: 'Agents' } } });
  const maps = all.filter(({ kind }) => kind === 'ConfigMap') as unknown as readonly DataMap[];
  for (const { metadata } of maps) {
    expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(metadata.annotations).toEqual({ grafana_folder: 'Agents' });
  }
  const texts = maps.flatMap(({ data }) => Object.values(data)).map((text) => JSON.parse(text) as { readonly uid: string });
  const byUid = <T extends { readonly uid: string }>(list: readonly T[]): readonly T[] => list.toSorted((a, b) => (a.uid < b.uid ? -1 : 1));
  expect(byUid(texts)).toEqual(byUid(await dashboards()));
});

/** The module with the definitions of the Prometheus operator. */
const definitions = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';

describe.runIf(process.env['AGENTFLEET_FULL'] === '1')('a real API server with the definitions of the Prometheus operator', () => {
  it('takes monitors and rules', async () => {
    const { stdout } = await execa('go', ['mod', 'download', '-json', definitions], { cwd: tmpdir(), env: { GOFLAGS: '-mod=mod' } });
    const { Dir: folder } = JSON.parse(stdout) as { readonly Dir: string };
    const paths = ['podmonitors', 'prometheusrules'].map(
      (plural) => `${folder}/example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
    );
    const kubectl = new Kubectl(cluster);
    await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const path of paths) await kubectl.text(['apply', '--server-side', '-f', path]);
    try {
      for (const path of paths) await kubectl.text(['wait', '--for=condition=Established', '-f', path, '--timeout=30s']);
      const all = await rendered({ podMonitor: { enabled: true, pools: true }, prometheusRule: { enabled: true } });
      const items = all.filter(({ kind }) => kind === 'PodMonitor' || kind === 'PrometheusRule');
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      const how = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
      const lines = (await kubectl.text(how, list)).trim().split('\n');
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(line).toMatch(/serverside-applied \(server dry run\)$/);
    } finally {
      for (const path of paths) await kubectl.text(['delete', '-f', path]);
      await kubectl.text(['delete', 'namespace', namespace, '--wait=false']);
    }
  });
});
