import { describe, expect, it } from 'vitest';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { resources } from '../../../runtime/resources.ts';
import { newPool } from '../../agenttask/testing/objects.ts';
import { accessBinding, decideNamespace, filesAccess, sandboxWall, signingKeys, type NamespaceSnapshot } from './decide.ts';

const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' } as const;
const accept = (made: ExpertPool): ExpertPool => ({ ...made, status: { conditions: [accepted] } });
const pool = accept(newPool());
const shared = [
  { resource: resources.networkPolicies, object: sandboxWall('team', ['platform']).object },
  { resource: resources.configMaps, object: signingKeys('team', '{}').object },
];

const whole: NamespaceSnapshot = {
  namespace: { metadata: { name: 'team' } },
  pools: [pool],
  sandboxes: false,
  workerClusterRole: 'role',
  jwks: '{}',
  files: new Map(),
  access: [],
  roles: [],
  shared: [],
};

function decide(parts: Partial<NamespaceSnapshot>) {
  const { apply, remove } = decideNamespace({ ...whole, ...parts });
  const name = (object: { readonly metadata: { readonly name: string } }): string => object.metadata.name;
  return { apply: apply.map(({ object }) => name(object)), remove: remove.map(({ object }) => name(object)) };
}

describe('a namespace with tasks', () => {
  it('has a wall, the signing keys, and an access for each pool', () => {
    const other = accept(newPool({}, 'other'));
    expect(decide({ pools: [pool, other] }).apply).toEqual([
      'agentfleet-sandbox',
      'agentfleet-jwks',
      'agentfleet.platform.coding',
      'agentfleet.platform.other',
    ]);
  });

  it('keeps its wall while anything is behind it, and loses the access of pools that serve it no more', () => {
    const access = [accessBinding(pool, 'team', 'role').object];
    expect(decide({ pools: [], sandboxes: true, shared, access })).toEqual({
      apply: ['agentfleet-sandbox', 'agentfleet-jwks'],
      remove: ['agentfleet.platform.coding'],
    });
    expect(decide({ pools: [], shared })).toEqual({ apply: [], remove: ['agentfleet-sandbox', 'agentfleet-jwks'] });
  });

  it('gets nothing for a pool of another namespace that is not accepted, and keeps what such a pool has', () => {
    const refused = newPool();
    expect(decide({ pools: [refused] })).toEqual({ apply: [], remove: [] });
    const access = [accessBinding(refused, 'team', 'role').object];
    expect(decide({ pools: [refused], access, shared }).apply).toContain('agentfleet.platform.coding');
    expect(decide({ pools: [refused], namespace: { metadata: { name: 'platform' } } }).apply).toContain('agentfleet.platform.coding');
  });

  it('lets workers read the ConfigMaps that tasks name, and no others, as long as they do', () => {
    const files = new Map([['platform/coding', ['files', 'more']]]);
    const [role, bound] = filesAccess(pool, 'team', ['files', 'more']).map(({ object }) => object);
    expect(role).toMatchObject({ rules: [{ resources: ['configmaps'], resourceNames: ['files', 'more'], verbs: ['get'] }] });
    const names = ['agentfleet.platform.coding', 'agentfleet.platform.coding.files', 'agentfleet.platform.coding.files'];
    expect(decide({ files }).apply.slice(2)).toEqual(names);
    const access = [accessBinding(pool, 'team', 'role').object, bound!];
    const kept = decideNamespace({ ...whole, files, access, roles: [role!], shared });
    expect(kept.remove).toEqual([]);
    expect(kept.apply).toHaveLength(5);
    expect(decide({ access, roles: [role!], shared }).remove).toEqual(names.slice(1));
  });

  it('has a link key as long as it has a wall', () => {
    const keyOf = (parts: Partial<NamespaceSnapshot>): string => decideNamespace({ ...whole, ...parts }).linkKey;
    expect(keyOf({})).toBe('Keep');
    expect(keyOf({ pools: [], sandboxes: true, shared })).toBe('Keep');
    expect(keyOf({ pools: [], shared })).toBe('Remove');
    expect(keyOf({ pools: [] })).toBe('None');
  });

  it('is not walled in for sandboxes of another owner', () => {
    expect(decide({ pools: [], sandboxes: true })).toEqual({ apply: [], remove: [] });
  });

  it('gets a binding to another role by making it anew, because a roleRef cannot change', () => {
    const access = [accessBinding(pool, 'team', 'old-role').object];
    const { apply, remove } = decide({ access });
    expect(remove).toEqual(['agentfleet.platform.coding']);
    expect(apply).not.toContain('agentfleet.platform.coding');
  });

  it.each([
    [{ metadata: { name: 'team', deletionTimestamp: '2030-01-01T00:00:00Z' } }],
    [{ metadata: { name: 'team' }, status: { phase: 'Terminating' as const } }],
  ])('is left alone while it goes', (namespace) => {
    expect(decide({ namespace, shared })).toEqual({ apply: [], remove: [] });
  });
});

describe('the wall', () => {
  it('opens for the workers of the pools that serve the namespace', () => {
    const text = JSON.stringify(sandboxWall('team', ['platform']).object);
    expect(text).toContain('"kubernetes.io/metadata.name":"platform"');
    expect(text).toContain('"policyTypes":["Ingress","Egress"]');
    expect(text).not.toContain('egress');
  });

  it('lets no one in without any: an empty list of peers would be everybody', () => {
    const { spec } = sandboxWall('team', []).object;
    expect(spec).toEqual({ podSelector: { matchLabels: { 'agentfleet.dev/component': 'sandbox' } }, policyTypes: ['Ingress', 'Egress'] });
  });
});
