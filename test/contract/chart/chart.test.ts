// The Helm chart: its rendered objects, its permissions, and that a real API server accepts all of it.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { load, loadAll } from 'js-yaml';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { up, type Cluster } from '../../../hack/cluster/index.ts';
import { chart, chartValues } from '../../../hack/install/index.ts';
import { Kubectl } from '../../../hack/sandbox/index.ts';
import { parseEgress } from '../../../operator/src/egress.ts';
import { linkSecret } from '../../../operator/src/controllers/agenttask/sandbox/pod.ts';
import { loadManifests } from '../../../operator/kube/src/api/manifests.ts';
import { operatorLabels } from '../../../operator/src/serving/index.ts';
import { allows, image, one, render, template, type Manifest } from './rendered.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const namespace = `chart-${randomBytes(3).toString('hex')}`;

let cluster: Cluster;
let kubectl: Kubectl;
let all: readonly Manifest[];
const rendered = (values?: Readonly<Record<string, unknown>>): Promise<readonly Manifest[]> =>
  render(cluster.bin('helm'), namespace, values);
const kindsOf = (manifests: readonly Manifest[]): readonly string[] => manifests.map(({ kind }) => kind);

beforeAll(async () => {
  cluster = await up({ tier: 'control-plane', log: () => undefined });
  kubectl = new Kubectl(cluster);
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
  all = await rendered();
});
afterAll(() => kubectl.text(['delete', 'namespace', namespace, '--wait=false']));

describe('the rendered chart', () => {
  it('passes helm lint', async () => {
    for (const [path, values] of [
      [chart, chartValues({ image })],
      [`${chart}/charts/agentfleet-crds`, {}],
    ] as const) {
      const { stdout } = await execa(cluster.bin('helm'), ['lint', '--strict', path, '--values=-'], { input: JSON.stringify(values) });
      expect(stdout).toContain('0 chart(s) failed');
    }
  });

  it('has the version of the project', async () => {
    const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { version: string };
    const about = load(await readFile(`${chart}/Chart.yaml`, 'utf8'));
    expect(about).toMatchObject({ version, appVersion: version, dependencies: [{ name: 'agentfleet-crds', version }] });
    const definitions = load(await readFile(`${chart}/charts/agentfleet-crds/Chart.yaml`, 'utf8'));
    expect(definitions).toMatchObject({ name: 'agentfleet-crds', version, appVersion: version });
  });

  it.for(['operator', 'agent', 'inference', 'sandbox', 'tools'])('refuses to guess the image %s, and says what to set', async (part) => {
    const { images } = chartValues({ image }) as { images: Record<string, string> };
    const partly = { images: { ...images, [part]: '' } };
    await expect(template(cluster.bin('helm'), namespace, partly)).rejects.toThrow(`--set images.${part}=`);
  });

  it.for([
    ['an unknown value', { replica: 2 }],
    ['a value of another type', { replicas: 'two' }],
    ['an unknown level', { logLevel: 'loud' }],
    ['a registry without a port', { egress: { registries: [{ host: 'packages.example.com' }] } }],
    ['a registry with a path', { egress: { registries: [{ host: 'packages.example.com/npm', port: 443 }] } }],
  ] as const)('refuses %s', async ([, values]) => {
    await expect(rendered(values)).rejects.toThrow(/don't meet the specifications of the schema/);
  });

  it('takes names that YAML reads as numbers or booleans', async () => {
    const text = await template(cluster.bin('helm'), '2024', {
      ...chartValues({ image }),
      platformNamespaces: ['2024'],
      priorityClassName: '007',
      podMonitor: { enabled: true, prometheusNamespace: 'no' },
      watch: { namespaces: ['2024', 'on'] },
    });
    const found = JSON.stringify(loadManifests(text));
    expect(found.match(/"(?:namespace|value|priorityClassName|app.kubernetes.io.instance)":(?:[-\d]|true|false|null)/g)).toBeNull();
    for (const name of ['"namespace":"2024"', '"namespace":"on"', '"value":"2024"', '"value":"no"', '"priorityClassName":"007"'])
      expect(found).toContain(name);
  });

  it('gives every image to the operator', () => {
    const { containers } = one(all, 'Deployment', 'agentfleet-operator').spec!.template!.spec;
    expect(containers[0]!.image).toBe(image('operator'));
    const env = Object.fromEntries(containers[0]!.env.map(({ name, value }) => [name, value]));
    for (const part of ['agent', 'inference', 'sandbox', 'tools']) expect(env[`AGENTFLEET_${part.toUpperCase()}_IMAGE`]).toBe(image(part));
    expect(one(all, 'ClusterRole', env['AGENTFLEET_WORKER_CLUSTER_ROLE']!)).toBeDefined();
  });

  it('gives the image of the language model only when there is one, and where registries are', async () => {
    const environment = (manifests: readonly Manifest[]): Readonly<Record<string, string | undefined>> => {
      const [container] = one(manifests, 'Deployment', 'agentfleet-operator').spec!.template!.spec.containers;
      return Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
    };
    expect(environment(all)).not.toHaveProperty('AGENTFLEET_INFERENCE_LLAMA_IMAGE');
    expect(parseEgress(environment(all)['AGENTFLEET_EGRESS']!)).toEqual({ registries: [], environment: {} });
    const egress = {
      registries: [{ host: 'packages.example.com', port: 443 }],
      environment: { REGISTRY: 'https://packages.example.com/' },
    };
    const images = [{ name: 'inference-llama', ref: image('inference-llama') }];
    const full = environment(await rendered({ ...chartValues({ image, images }), egress }));
    expect(full['AGENTFLEET_INFERENCE_LLAMA_IMAGE']).toBe(image('inference-llama'));
    expect(parseEgress(full['AGENTFLEET_EGRESS']!)).toEqual(egress);
  });

  it('gives the operator the labels that experts and verifiers let in', () => {
    const { metadata } = one(all, 'Deployment', 'agentfleet-operator').spec!.template!;
    expect((metadata as Manifest['metadata']).labels).toMatchObject(operatorLabels);
  });

  it('adds the objects of several replicas, and monitoring on request', async () => {
    expect(kindsOf(all)).not.toContain('PodDisruptionBudget');
    expect(kindsOf(all)).not.toContain('PodMonitor');
    const two = kindsOf(await rendered({ replicas: 2, podMonitor: { enabled: true } }));
    expect(two).toContain('PodDisruptionBudget');
    expect(two).toContain('PodMonitor');
  });

  it('keeps definitions when it is uninstalled, and leaves them out when configured so', async () => {
    const definitions = all.filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(definitions.map(({ metadata }) => metadata.name).sort()).toEqual(
      ['agenttaskorders', 'agenttasks', 'energymodels', 'expertpools', 'expertscales', 'poolgrants', 'rolloutpolicies'].map(
        (plural) => `${plural}.agentfleet.dev`,
      ),
    );
    for (const { metadata } of definitions) expect(metadata.annotations?.['helm.sh/resource-policy']).toBe('keep');
    expect(kindsOf(await rendered({ crds: { install: false } }))).not.toContain('CustomResourceDefinition');
  });

  it('has its definitions as a chart, which can be installed alone too, and removes them with the release when configured so', async () => {
    const definitions = all.filter(({ kind }) => kind === 'CustomResourceDefinition');
    const alone = async (...more: readonly string[]): Promise<readonly Manifest[]> => {
      const { stdout } = await execa(cluster.bin('helm'), ['template', 'agentfleet-crds', `${chart}/charts/agentfleet-crds`, ...more]);
      return loadAll(stdout) as Manifest[];
    };
    expect(await alone()).toEqual(definitions);
    const loose = definitions.map(({ metadata: { name }, ...rest }) => ({ ...rest, metadata: { name } }));
    expect(await alone('--set=keep=false')).toEqual(loose);
    const together = await rendered({ crds: { keep: false } });
    expect(together.filter(({ kind }) => kind === 'CustomResourceDefinition')).toEqual(loose);
    await expect(alone('--set=kept=false')).rejects.toThrow(/'kept' not allowed/);
  });
});

describe('permissions', () => {
  const role = (name: string): Manifest => one(all, 'ClusterRole', `agentfleet-${name}`);

  it('has no wildcard and no escalation in any role, and reads no foreign Secret', () => {
    const rules = all.flatMap((manifest) => manifest.rules ?? []);
    expect(rules.length).toBeGreaterThan(10);
    for (const { apiGroups = [], resources = [], verbs } of rules) {
      expect([...apiGroups, ...resources, ...verbs]).not.toContain('*');
      expect(verbs).not.toContain('escalate');
      expect(verbs).not.toContain('impersonate');
    }
    const secrets = rules.filter(({ resources = [] }) => resources.some((plural) => plural.startsWith('secrets')));
    expect(secrets.map(({ verbs, resourceNames }) => [verbs, resourceNames])).toEqual([
      [['create'], undefined],
      [['delete'], [linkSecret.name]],
      // For the results server: the certificate that it makes itself.
      [['get', 'update'], ['agentfleet-results-tls']],
    ]);
  });

  it('gives the results server without an aggregation layer no Secret, no APIService, and of ConfigMaps their making alone', async () => {
    const copying = await rendered({ results: { aggregation: false } });
    expect(copying.filter(({ kind, metadata }) => metadata.name.includes('results') && /APIService|Secret|Service$/.test(kind))).toEqual(
      [],
    );
    const { rules = [] } = one(copying, 'ClusterRole', 'agentfleet-results');
    expect(rules.map(({ resources, verbs }) => [resources, verbs])).toEqual([
      [['agenttasks'], ['get', 'list', 'watch']],
      [['configmaps'], ['create']],
    ]);
    const [container] = one(copying, 'Deployment', 'agentfleet-results').spec?.template?.spec.containers ?? [];
    expect(container?.env).toContainEqual({ name: 'AGENTFLEET_RESULTS', value: 'Copies' });
    const [serving] = one(all, 'Deployment', 'agentfleet-results').spec?.template?.spec.containers ?? [];
    expect(serving?.env).toContainEqual({ name: 'AGENTFLEET_RESULTS', value: 'Aggregated' });
  });

  it('gives rights in the namespaces that are watched alone, and of the whole cluster what has no namespace', async () => {
    const manifests = (await rendered({
      watch: { namespaces: ['team'] },
      kueue: { enabled: true },
      podMonitor: { enabled: true, pools: true },
    })) as readonly (Manifest & {
      readonly metadata: { readonly namespace?: string };
      readonly roleRef?: { readonly kind: string; readonly name: string };
    })[];
    const whole = (name: string): readonly string[] =>
      (manifests.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === name)?.rules ?? []).flatMap(
        ({ resources = [], resourceNames = [] }) => resources.map((plural) => [plural, ...resourceNames].join(' ')),
      );
    const classes = ['nodes', 'runtimeclasses', 'resourceslices', 'deviceclasses', 'storageclasses', 'volumesnapshotclasses'];
    expect(whole('agentfleet-operator')).toEqual([...classes, 'resourceflavors', `namespaces team ${namespace}`]);
    expect(whole('agentfleet-results')).toEqual(['apiservices v1alpha1.results.agentfleet.dev', 'tokenreviews', 'subjectaccessreviews']);
    const bound = manifests.filter(({ kind, roleRef }) => kind === 'RoleBinding' && roleRef?.kind === 'Role');
    const at = (name: string): readonly string[] =>
      bound.filter(({ roleRef }) => roleRef?.name === name).map(({ metadata }) => metadata.namespace ?? '');
    for (const name of ['agentfleet-operator', 'agentfleet-results-tasks', 'agentfleet-uninstall'])
      expect(at(name), name).toEqual(['team', namespace]);
    const inTeam = manifests.find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'agentfleet-operator');
    const everywhere = one(await rendered({ kueue: { enabled: true } }), 'ClusterRole', 'agentfleet-operator').rules ?? [];
    const wide = one(manifests, 'ClusterRole', 'agentfleet-operator').rules ?? [];
    expect([...(inTeam?.rules ?? []), ...wide]).toHaveLength(everywhere.length);
    for (const part of ['operator', 'results']) {
      const [container] = one(manifests, 'Deployment', `agentfleet-${part}`).spec?.template?.spec.containers ?? [];
      expect(container?.env).toContainEqual({ name: 'AGENTFLEET_WATCH_NAMESPACES', value: 'team' });
    }
    expect(JSON.stringify(manifests.filter(({ kind }) => kind === 'PodMonitor'))).toContain(`"matchNames":["team","${namespace}"]`);
    await expect(rendered({ watch: { namespaces: ['Team'] } })).rejects.toThrow(/schema/);
  });

  it('binds the operator to no ClusterRole but that of the workers', () => {
    const binding = (role('operator').rules ?? []).filter(({ verbs }) => verbs.includes('bind'));
    expect(binding.map(({ resources, resourceNames }) => [resources, resourceNames])).toEqual([[['clusterroles'], ['agentfleet-worker']]]);
  });

  it('gives the dashboard, where it is asked for, neither a right nor a token', async () => {
    expect(all.filter(({ metadata }) => metadata.name === 'agentfleet-dashboard')).toEqual([]);
    const manifests = await rendered({ dashboard: { enabled: true, auth: 'Proxy', readOnly: true, namespaces: ['a', 'b'] } });
    expect(manifests.filter(({ metadata }) => metadata.name === 'agentfleet-dashboard').map(({ kind }) => kind)).toEqual([
      'ServiceAccount',
      'Service',
      'Deployment',
    ]);
    const bindings = manifests.filter(({ kind }) => kind.endsWith('Binding'));
    expect(JSON.stringify(bindings)).not.toContain('agentfleet-dashboard');
    const { spec } = one(manifests, 'Deployment', 'agentfleet-dashboard').spec!.template!;
    expect(spec).toMatchObject({ automountServiceAccountToken: false, containers: [{ image: image('operator') }] });
    const env = Object.fromEntries(spec.containers[0]!.env.map(({ name, value }) => [name, value]));
    expect(env).toMatchObject({ DASHBOARD_AUTH: 'Proxy', DASHBOARD_READ_ONLY: 'true', DASHBOARD_NAMESPACES: 'a,b' });
    await expect(rendered({ dashboard: { enabled: true, auth: 'None' } })).rejects.toThrow(/schema/);
  });

  it('lets the worker report and not assign', () => {
    const worker = role('worker');
    expect(allows(worker, 'patch', 'agenttasks/status')).toBe(true);
    for (const [verb, resource] of [
      ['assign', 'agenttasks'],
      ['patch', 'agenttasks'],
      ['create', 'agenttaskorders'],
    ] as const)
      expect(allows(worker, verb, resource)).toBe(false);
    expect(allows(role('operator'), 'assign', 'agenttasks')).toBe(true);
    for (const plural of ['pods', 'configmaps', 'secrets', 'events'])
      for (const verb of ['get', 'list', 'watch', 'create', 'delete', 'patch']) expect(allows(worker, verb, plural, '')).toBe(false);
  });

  it('lets approvers alone give orders', () => {
    expect(['viewer', 'editor', 'approver'].filter((name) => allows(role(name), 'create', 'agenttaskorders'))).toEqual(['approver']);
    expect(['viewer', 'editor', 'approver'].filter((name) => allows(role(name), 'create', 'agenttasks'))).toEqual(['editor']);
    for (const plural of ['expertpools', 'energymodels']) {
      const writers = all.filter(({ kind }) => kind === 'ClusterRole').filter((found) => allows(found, 'create', plural));
      expect(writers.map(({ metadata }) => metadata.name)).toEqual(['agentfleet-pools']);
      expect(allows(role('viewer'), 'list', plural)).toBe(true);
    }
  });

  it('lets the owner of a namespace consent to pools of others, and not its editors', () => {
    const writers = all.filter(({ kind }) => kind === 'ClusterRole').filter((found) => allows(found, 'create', 'poolgrants'));
    expect(writers.map(({ metadata }) => metadata.name)).toEqual(['agentfleet-granter']);
    const labelled = Object.keys(writers[0]?.metadata.labels ?? {}).filter((label) => label.includes('aggregate'));
    expect(labelled.toSorted()).toEqual(['agentfleet.dev/aggregate-to-admin', 'rbac.authorization.k8s.io/aggregate-to-admin']);
    expect(allows(role('viewer'), 'list', 'poolgrants')).toBe(true);
  });

  it('adds nothing to the built-in roles when configured so', async () => {
    const aggregated = (manifests: readonly Manifest[]): readonly string[] =>
      manifests.flatMap(({ metadata }) => Object.keys(metadata.labels ?? {})).filter((label) => label.startsWith('rbac.authorization'));
    expect(aggregated(all).toSorted()).toEqual(['admin', 'edit', 'view'].map((name) => `rbac.authorization.k8s.io/aggregate-to-${name}`));
    expect(aggregated(await rendered({ roles: { aggregate: false } }))).toEqual([]);
  });
});

describe('a real API server', () => {
  const dryRun = (manifests: readonly object[]): Promise<string> => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
    const how = ['--server-side', '--dry-run=server', '--force-conflicts', '--field-manager=helm', '--validate=strict'];
    return kubectl.text(['apply', ...how, '-f', '-'], list);
  };

  it('takes every manifest', async () => {
    const manifests = await rendered({
      replicas: 2,
      dashboard: { enabled: true, replicas: 2 },
      networkPolicy: { enabled: true, egress: [] },
    });
    const lines = (await dryRun(manifests)).trim().split('\n');
    expect(lines).toHaveLength(manifests.length);
    for (const line of lines) expect(line).toMatch(/serverside-applied \(server dry run\)$/);
  });

  it.for(['operator', 'dashboard'])('holds the pod of the %s to be restricted', async (part) => {
    const manifests = await rendered({ dashboard: { enabled: true } });
    const { metadata, spec } = one(manifests, 'Deployment', `agentfleet-${part}`).spec!.template!;
    await kubectl.text(['-n', namespace, 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: part, namespace },
      spec: { ...spec, serviceAccountName: 'default' },
    };
    expect(await dryRun([pod])).toContain(`pod/${part} serverside-applied`);
    const loose = { ...pod, spec: { ...pod.spec, securityContext: {} } };
    await expect(dryRun([loose])).rejects.toThrow('violates PodSecurity "restricted');
  });
});
