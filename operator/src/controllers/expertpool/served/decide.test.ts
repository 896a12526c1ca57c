import { describe, expect, it } from 'vitest';
import { resources } from '../../../runtime/resources.ts';
import { newPool } from '../../agenttask/testing/objects.ts';
import { accessBinding, decideNamespace, sandboxWall, signingKeys, type NamespaceSnapshot } from './decide.ts';

const pool = newPool();
const shared = [
  { resource: resources.networkPolicies, object: sandboxWall('team', ['platform']).object },
  { resource: resources.configMaps, object: signingKeys('team', '{}').object },
];

function decide(parts: Partial<NamespaceSnapshot>) {
  const whole = {
    namespace: { metadata: { name: 'team' } },
    pools: [pool],
    sandboxes: false,
    workerClusterRole: 'role',
    jwks: '{}',
    access: [],
    shared: [],
  };
  const { apply, remove } = decideNamespace({ ...whole, ...parts });
  const name = (object: { readonly metadata: { readonly name: string } }): string => object.metadata.name;
  return { apply: apply.map(({ object }) => name(object)), remove: remove.map(({ object }) => name(object)) };
}

describe('a namespace with tasks', () => {
  it('has a wall, the signing keys, and an access for each pool', () => {
    const other = newPool({}, 'other');
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

  it('is not walled in for sandboxes of somebody else', () => {
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

  it('lets nobody in without any: an empty list of peers would be everybody', () => {
    const { spec } = sandboxWall('team', []).object;
    expect(spec).toEqual({ podSelector: { matchLabels: { 'agentfleet.dev/component': 'sandbox' } }, policyTypes: ['Ingress', 'Egress'] });
  });
});
