// The attack on a neighbour, as it was seen on a live cluster: a pool that makes pods in the namespace of others, one of them a
// ready endpoint of their Service, and draws in their tasks as a second default.
import { randomBytes } from 'node:crypto';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { condition, useFleet } from './fleet.ts';
import { oneBug } from './repositories.ts';

const fleet = useFleet('tenancy');
const victim = `aft-victim-${randomBytes(3).toString('hex')}`;

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly endpoints?: readonly object[] | null }[];
}

const inVictim = (...args: readonly string[]): Promise<string> => fleet.kubectl.text(['-n', victim, ...args]);
const names = async (kinds: string): Promise<readonly string[]> => {
  const { items } = await fleet.kubectl.json<List>(['-n', victim, 'get', kinds, '-l', 'agentfleet.dev/component']);
  return items.map(({ metadata }) => metadata.name);
};
const everything = 'pods,configmaps,secrets,roles,rolebindings,networkpolicies';
const thief = (): Promise<ExpertPool> => fleet.kubectl.json<ExpertPool>(['-n', fleet.namespace, 'get', 'afp', 'thief']);

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 240; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`${what}: ${JSON.stringify((await thief()).status?.conditions)}`);
}

beforeAll(async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await fleet.kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: victim, labels } });
  const ports = [{ port: 80, targetPort: 8080 }];
  const shop = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop', namespace: victim },
    spec: { selector: { app: 'shop' }, ports },
  };
  await fleet.kubectl.apply(shop);
  await fleet.apply('ExpertPool', 'thief', {
    default: true,
    allowedNamespaces: { from: 'All' },
    experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Synth' } }],
    workers: { replicas: 0 },
    sandbox: { template: { podMetadata: { labels: { app: 'shop' } } }, warm: [{ namespace: victim, replicas: 1 }] },
  });
});
afterAll(() => fleet.kubectl.text(['delete', 'namespace', victim, '--ignore-not-found', '--timeout=120s']));

describe('a pool and the namespace of others', () => {
  test('nothing is made there without consent, and the pool reports the cure', async () => {
    await fleet.run('wait', '--for=condition=Accepted', 'afp/thief', '--timeout=60s');
    await eventually('the pool says what is missing', async () => {
      const word = (await thief()).status?.conditions?.find(({ type }) => type === 'NamespacesGranted');
      return word?.status === 'False' && word.message.includes(`kind: PoolGrant, metadata: {name: thief, namespace: ${victim}}`);
    });
    expect(await names(everything)).toEqual([]);
  });

  test('tasks that name no pool do not go there', async () => {
    const task = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', metadata: { name: 'mine', namespace: victim } };
    const workspace = { type: 'Inline', inline: { files: oneBug.files } };
    const checks = [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'] }];
    await fleet.kubectl.apply({ ...task, spec: { goal: 'Make the failing tests pass.', workspace, checks } });
    const read = (): Promise<AgentTask> => fleet.kubectl.json<AgentTask>(['-n', victim, 'get', 'aft', 'mine']);
    await eventually('the task is refused', async () => condition(await read(), 'Accepted')?.reason === 'NoDefaultPool');
    expect(await names(everything)).toEqual([]);
    await inVictim('delete', 'aft', 'mine');
  });

  test('with consent to sandboxes and not to labels there is still none; with both one is ready; withdrawn, all is removed', async () => {
    const grant = (allow: readonly string[]): Promise<void> =>
      fleet.kubectl.apply({
        apiVersion: 'agentfleet.dev/v1alpha1',
        kind: 'PoolGrant',
        metadata: { name: 'thief', namespace: victim },
        spec: { from: [{ namespace: fleet.namespace, name: 'thief' }], allow },
      });
    await grant(['Warm']);
    await eventually('the label is missing', async () => {
      const word = (await thief()).status?.conditions?.find(({ type }) => type === 'NamespacesGranted');
      return word?.message.includes('does not grant PodMetadata;') === true;
    });
    expect(await names(everything)).toEqual([]);
    await grant(['Warm', 'PodMetadata']);
    await eventually('a sandbox is ready', async () => (await thief()).status?.sandboxes?.warm === 1);
    const pod = await fleet.kubectl.text(['-n', victim, 'get', 'pods', '-l', 'agentfleet.dev/component=sandbox', '-o', 'yaml']);
    expect(pod).not.toContain('link-key:');
    const slices = await fleet.kubectl.json<List>(['-n', victim, 'get', 'endpointslices', '-l', 'kubernetes.io/service-name=shop']);
    // The namespace asked for it: it granted the label.
    expect(slices.items.flatMap(({ endpoints }) => endpoints ?? [])).toHaveLength(1);
    await inVictim('delete', 'poolgrant', 'thief');
    await eventually('nothing is left', async () => (await names(everything)).length === 0);
  });
});
