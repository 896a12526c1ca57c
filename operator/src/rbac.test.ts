import { readFile } from 'node:fs/promises';
import { resourceName, type Resource } from '@agentfleet/kube';
import type { V1PolicyRule } from '@kubernetes/client-node';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { linkSecret } from './controllers/agenttask/sandbox/pod.ts';
import { workerRules } from './controllers/expertpool/manifests/access.ts';
import { resources } from './runtime/resources.ts';

type Rules = Readonly<Record<'cluster' | 'namespaces' | 'namespaced' | 'kueueCluster' | 'kueueNamespaced', readonly V1PolicyRule[]>>;

const file = new URL('../../charts/agentfleet/files/operator-rules.yaml', import.meta.url);

/** Whether rules without names of objects allow it. */
function allowed(rules: readonly V1PolicyRule[], group: string, resource: string, verb: string): boolean {
  return rules.some(
    (rule) =>
      rule.resourceNames === undefined &&
      rule.apiGroups?.includes(group) === true &&
      rule.resources?.includes(resource) === true &&
      rule.verbs.includes(verb),
  );
}

const written = ['create', 'patch', 'delete'];

/** What is read by name, and not watched. */
const unwatched: ReadonlySet<string> = new Set(['podTemplates', 'storageClasses', 'volumeSnapshotClasses']);
/** What is watched, and read by name as well. */
const readByName: ReadonlySet<string> = new Set([
  'agentTasks',
  'configMaps',
  'energyModels',
  'expertPools',
  'persistentVolumeClaims',
  'pods',
  'volumeSnapshots',
]);

/** What the controllers do with each resource apart from reading and watching it. */
const uses: Readonly<Record<keyof typeof resources, readonly string[]>> = {
  agentTasks: ['delete', 'assign'],
  agentTaskOrders: ['patch', 'delete'],
  expertPools: [],
  expertScales: [],
  energyModels: [],
  poolGrants: [],
  rolloutPolicies: [],
  pods: written,
  namespaces: [],
  nodes: [],
  runtimeClasses: [],
  configMaps: written,
  secrets: ['create'],
  services: written,
  serviceAccounts: written,
  persistentVolumeClaims: written,
  storageClasses: [],
  volumeSnapshots: ['create', 'delete'],
  volumeSnapshotClasses: [],
  workloads: written,
  resourceFlavors: [],
  resourceSlices: [],
  deviceClasses: [],
  resourceClaims: written,
  podTemplates: [],
  jobs: written,
  deployments: written,
  controllerRevisions: written,
  podDisruptionBudgets: written,
  roles: written,
  roleBindings: written,
  networkPolicies: written,
};

/** What is granted beside that, each as `group/resource`. */
const more: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ['agenttasks', 'agenttaskorders', 'expertpools', 'energymodels', 'expertscales'].map((plural) => [
      `agentfleet.dev/${plural}/status`,
      ['patch'],
    ]),
  ),
  // Owner references that block the deletion of what owns.
  ...Object.fromEntries(['agenttasks', 'expertpools', 'energymodels'].map((plural) => [`agentfleet.dev/${plural}/finalizers`, ['update']])),
  'kueue.x-k8s.io/workloads/status': ['patch'],
  '/secrets': ['delete'],
  '/serviceaccounts/token': ['create'],
  'rbac.authorization.k8s.io/clusterroles': ['bind'],
  // Watched, and granted to workers.
  'coordination.k8s.io/leases': ['get', 'list', 'watch', 'create', 'patch', 'update'],
  'events.k8s.io/events': ['list', 'create', 'patch'],
};

/** Reads of a resource: those of a cache, or by name alone. */
const readsOf = (name: string): readonly string[] => {
  if (name === 'secrets') return [];
  return unwatched.has(name) ? ['get'] : [...(readByName.has(name) ? ['get'] : []), 'list', 'watch'];
};

describe('the rules of the chart for the operator', () => {
  let parts: Rules;
  let rules: readonly V1PolicyRule[] = [];
  const may = (group: string, resource: string, verb: string): boolean => allowed(rules, group, resource, verb);

  beforeAll(async () => {
    parts = load(await readFile(file, 'utf8')) as Rules;
    const { cluster, namespaces, namespaced, kueueCluster, kueueNamespaced } = parts;
    const always = [...cluster, ...namespaces, ...namespaced];
    expect(JSON.stringify(always)).not.toContain('kueue');
    rules = [...always, ...kueueCluster, ...kueueNamespaced];
  });

  it.each(Object.entries(uses))('allow what is done with %s', (name, verbs) => {
    const resource: Resource = resources[name as keyof typeof resources];
    for (const verb of [...readsOf(name), ...verbs]) {
      expect(may(resource.group, resource.plural, verb), `${verb} ${resourceName(resource)}`).toBe(true);
    }
  });

  it('allow nothing that is not done', () => {
    const granted = rules.flatMap(({ apiGroups = [], resources: plurals = [], verbs }) =>
      apiGroups.flatMap((group) => plurals.flatMap((plural) => verbs.map((verb) => `${group}/${plural} ${verb}`))),
    );
    const used = [
      ...Object.entries(uses).flatMap(([name, verbs]) => {
        const { group, plural }: Resource = resources[name as keyof typeof resources];
        return [...readsOf(name), ...verbs].map((verb) => `${group}/${plural} ${verb}`);
      }),
      ...Object.entries(more).flatMap(([resource, verbs]) => verbs.map((verb) => `${resource} ${verb}`)),
    ];
    expect(new Set(granted)).toEqual(new Set(used));
    expect(granted).toHaveLength(new Set(granted).size);
  });

  it('are of the whole cluster for what has no namespace alone', () => {
    const namespaced = new Set(Object.values<Resource>(resources).flatMap((one) => (one.namespaced ? [resourceName(one)] : [])));
    const named = (of: readonly V1PolicyRule[]): readonly string[] =>
      of.flatMap(({ apiGroups = [], resources: plurals = [] }) =>
        apiGroups.flatMap((group) => plurals.map((plural) => (group === '' ? plural : `${plural}.${group}`))),
      );
    const wide = named([...parts.cluster, ...parts.namespaces, ...parts.kueueCluster]);
    expect(wide.length).toBeGreaterThan(6);
    expect(wide.filter((name) => namespaced.has(name))).toEqual([]);
    const narrow = named([...parts.namespaced, ...parts.kueueNamespaced]);
    const known = new Set(Object.values<Resource>(resources).flatMap((one) => (one.namespaced ? [] : [resourceName(one)])));
    expect(narrow.filter((name) => known.has(name))).toEqual([]);
  });

  it.each(['agenttasks', 'agenttaskorders', 'expertpools', 'energymodels'])('allow to report the status of %s', (plural) => {
    expect(may('agentfleet.dev', `${plural}/status`, 'patch')).toBe(true);
  });

  it.each(['agenttasks', 'expertpools', 'energymodels'])('allow to own by %s, which blocks their deletion', (plural) => {
    expect(may('agentfleet.dev', `${plural}/finalizers`, 'update')).toBe(true);
  });

  it('hold all that is granted to workers, because no account may grant more than it has', () => {
    for (const { apiGroups = [], resources: plurals = [], verbs } of workerRules('brief', 'account')) {
      for (const group of apiGroups) {
        for (const plural of plurals) {
          for (const verb of verbs) expect(may(group, plural, verb), `${verb} ${group}/${plural}`).toBe(true);
        }
      }
    }
  });

  it('allow to bind the role of workers, and no other', () => {
    const binds = rules.filter(({ verbs }) => verbs.includes('bind') || verbs.includes('escalate') || verbs.includes('*'));
    expect(binds).toEqual([
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], resourceNames: ['agentfleet-worker'], verbs: ['bind'] },
    ]);
  });

  it('allow to read the Leases of workers, the Events of their pods and the signing keys', () => {
    for (const verb of ['get', 'list', 'watch']) expect(may('coordination.k8s.io', 'leases', verb)).toBe(true);
    for (const verb of ['list', 'create', 'patch']) expect(may('events.k8s.io', 'events', verb)).toBe(true);
    const paths = rules.flatMap(({ nonResourceURLs = [] }) => nonResourceURLs);
    expect(paths).toEqual(['/.well-known/openid-configuration', '/openid/v1/jwks']);
  });

  it('make link keys, and read no Secret', () => {
    const secrets = rules.filter(({ resources: plurals }) => plurals?.includes('secrets') === true || plurals?.includes('*') === true);
    expect(secrets.map(({ verbs, resourceNames }) => [verbs, resourceNames])).toEqual([
      [['create'], undefined],
      [['delete'], [linkSecret.name]],
    ]);
  });
});
