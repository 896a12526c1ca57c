import { describe, expect, it } from 'vitest';
import type { AgentTask, ExpertPool, PoolGrant, PoolRight } from '@agentfleet/protocol/api';
import { newPool } from '../controllers/agenttask/testing/objects.ts';
import { poolLookup, mayWarm, resolvePoolRef } from './resolve.ts';

type PoolRef = AgentTask['spec']['poolRef'];

interface Given {
  readonly pools: readonly ExpertPool[];
  readonly grants?: readonly PoolGrant[];
  readonly platformNamespaces?: readonly string[];
}

/** A pool of the namespace; `age` in seconds. */
function pool(namespace: string, name: string, spec: object = {}, age = 0): ExpertPool {
  const made = newPool({ default: true, ...spec }, name);
  const creationTimestamp = new Date(Date.parse('2030-01-01T00:00:00Z') - age * 1000).toISOString();
  return { ...made, metadata: { ...made.metadata, namespace, creationTimestamp } };
}

function grant(namespace: string, from: PoolGrant['spec']['from'], ...allow: PoolRight[]): PoolGrant {
  return { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'PoolGrant', metadata: { name: 'g', namespace }, spec: { from, allow } };
}

function lookupOf({ pools, grants = [], platformNamespaces = [] }: Given) {
  return poolLookup(
    {
      pools: {
        lister: { get: (key: string) => pools.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key), list: () => pools },
      },
      poolGrants: { lister: { list: ({ namespace = '' } = {}) => grants.filter(({ metadata }) => metadata.namespace === namespace) } },
      namespaces: { lister: { get: (name: string) => ({ metadata: { name } }) } },
    } as unknown as Parameters<typeof poolLookup>[0],
    { namespace: 'agentfleet-system', platformNamespaces },
  );
}

function resolved(given: Given, namespace: string, poolRef?: PoolRef): string {
  const found = resolvePoolRef(namespace, poolRef, lookupOf(given));
  return found.pool === undefined ? found.reason : `${found.pool.metadata.namespace}/${found.pool.metadata.name}`;
}

const thief = pool('attacker', 'thief');
const warm = { sandbox: { snapshotEngine: 'Auto', warm: [{ namespace: 'victim', replicas: 1 }] } };
const fromThief = [{ namespace: 'attacker', name: 'thief' }];

describe('the default pool of a namespace', () => {
  const platform = pool('platform', 'coding');
  const cases: readonly (readonly [string, Given, string])[] = [
    ['draws in no namespace that did not consent', { pools: [thief] }, 'NoDefaultPool'],
    ['is the one that the namespace grants', { pools: [thief], grants: [grant('victim', fromThief, 'Default')] }, 'attacker/thief'],
    ['is not one that is granted something else', { pools: [thief], grants: [grant('victim', fromThief, 'Warm')] }, 'NoDefaultPool'],
    [
      'is not one whose neighbour is granted',
      { pools: [thief], grants: [grant('victim', [{ namespace: 'attacker', name: 'o' }], 'Default')] },
      'NoDefaultPool',
    ],
    ['is not one that another namespace grants', { pools: [thief], grants: [grant('other', fromThief, 'Default')] }, 'NoDefaultPool'],
    ['may be any of a namespace', { pools: [thief], grants: [grant('victim', [{ namespace: 'attacker' }], 'Default')] }, 'attacker/thief'],
    ['is that of the platform', { pools: [platform], platformNamespaces: ['platform'] }, 'platform/coding'],
    [
      'is not blocked by a second one that nobody asked for',
      { pools: [platform, thief], platformNamespaces: ['platform'] },
      'platform/coding',
    ],
    ['is its own before any other', { pools: [platform, pool('victim', 'own')], platformNamespaces: ['platform'] }, 'victim/own'],
    [
      'is one that it grants before one of the platform',
      { pools: [platform, thief], platformNamespaces: ['platform'], grants: [grant('victim', fromThief, 'Default')] },
      'attacker/thief',
    ],
    [
      'is the oldest of equals',
      { pools: [pool('platform', 'a', {}, 1), pool('platform', 'b', {}, 2)], platformNamespaces: ['platform'] },
      'platform/b',
    ],
    ['is the first by name of equals of one age', { pools: [pool('victim', 'b'), pool('victim', 'a')] }, 'victim/a'],
    [
      'goes with the grant',
      {
        pools: [thief],
        grants: [{ ...grant('victim', fromThief, 'Default'), metadata: { name: 'g', namespace: 'victim', deletionTimestamp: 'now' } }],
      },
      'NoDefaultPool',
    ],
    [
      'needs a grant for what its template sets',
      {
        pools: [pool('attacker', 'thief', { sandbox: { template: { priorityClassName: 'high' } } })],
        grants: [grant('victim', fromThief, 'Default')],
      },
      'NoDefaultPool',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => {
    expect(resolved(given, 'victim')).toBe(expected);
  });

  it.each(['kube-system', 'agentfleet-system'])('never reaches into %s, whatever is granted', (namespace) => {
    const given = { pools: [thief], grants: [grant(namespace, fromThief, 'Default', 'Warm')], platformNamespaces: ['attacker'] };
    expect(resolved(given, namespace)).toBe('NoDefaultPool');
    expect(resolved(given, namespace, { name: 'thief', namespace: 'attacker' })).toBe('NamespaceNotAllowed');
    expect(mayWarm(thief, namespace, lookupOf(given))).toBe(false);
  });
});

describe('a pool that a task names', () => {
  const named = { name: 'thief', namespace: 'attacker' };

  it('needs no grant: its author consents', () => {
    expect(resolved({ pools: [thief] }, 'victim', named)).toBe('attacker/thief');
  });

  it.each([
    ['PriorityClass', { priorityClassName: 'system-cluster-critical' }],
    ['Tolerations', { tolerations: [{ operator: 'Exists' }] }],
    ['PodMetadata', { podMetadata: { labels: { app: 'shop' } } }],
    ['PodMetadata', { podMetadata: { annotations: { a: 'b' } } }],
  ] as const)('needs a grant of %s for what its template sets, and the task is told which', (right, template) => {
    const pools = [pool('attacker', 'thief', { sandbox: { template } })];
    const found = resolvePoolRef('victim', named, lookupOf({ pools }));
    expect(found).toMatchObject({ reason: 'PoolNotGranted' });
    expect('message' in found && found.message).toContain(
      `{apiVersion: agentfleet.dev/v1alpha1, kind: PoolGrant, metadata: {name: thief, namespace: victim}, spec: {from: [{namespace: attacker, name: thief}], allow: [${right}]}}`,
    );
    expect(resolved({ pools, grants: [grant('victim', fromThief, right)] }, 'victim', named)).toBe('attacker/thief');
    expect(resolved({ pools, platformNamespaces: ['attacker'] }, 'victim', named)).toBe('attacker/thief');
    expect(resolved({ pools }, 'attacker', named)).toBe('attacker/thief');
  });
});

describe('sandboxes that wait', () => {
  const thief = pool('attacker', 'thief', warm);
  const labelled = pool('attacker', 'thief', { sandbox: { ...warm.sandbox, template: { podMetadata: { labels: { app: 'shop' } } } } });
  const cases: readonly (readonly [string, ExpertPool, Omit<Given, 'pools'>, boolean])[] = [
    ['do not where nobody consented', thief, {}, false],
    ['do where the namespace grants it', thief, { grants: [grant('victim', fromThief, 'Warm')] }, true],
    ['do for pools of the platform', thief, { platformNamespaces: ['attacker'] }, true],
    [
      'do not where the pool itself does not allow it',
      pool('attacker', 'thief', { ...warm, allowedNamespaces: { from: 'Same' } }),
      { grants: [grant('victim', fromThief, 'Warm')] },
      false,
    ],
    ['do not with labels of the pool that are not granted', labelled, { grants: [grant('victim', fromThief, 'Warm')] }, false],
    [
      'do with labels that two grants allow together',
      labelled,
      { grants: [grant('victim', fromThief, 'Warm'), grant('victim', fromThief, 'PodMetadata')] },
      true,
    ],
  ];
  it.each(cases)('%s', (_, of, given, expected) => {
    expect(mayWarm(of, 'victim', lookupOf({ pools: [of], ...given }))).toBe(expected);
  });
});
