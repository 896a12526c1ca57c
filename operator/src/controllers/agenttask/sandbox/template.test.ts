import { describe, expect, test } from 'vitest';
import { sandboxPod } from './pod.ts';
import type { Node } from '../../../runtime/resources.ts';
import type { ClusterCapabilities } from './capabilities.ts';
import { sandboxInput, sandboxName } from './template.ts';
import { newPool, newTask } from '../testing/objects.ts';

const config = {
  namespace: 's',
  images: { agent: 'a:1', inference: 'i:1', sandbox: 'keeper:1', tools: 'tools:1' },
  egress: { registries: [], environment: {} },
  platformNamespaces: [],
  workerClusterRole: 'w',
};
const node = (userNamespaces: boolean): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `n-${userNamespaces}` },
  status: { runtimeHandlers: [{ name: '', features: { userNamespaces } }] },
});
const podOf = (spec: object, pool: object = {}, capabilities: ClusterCapabilities = { nodes: [], runtimeClasses: [] }) => {
  const task = newTask('one', { ...spec }, { uid: 'u-1' });
  return sandboxPod(sandboxInput('one-1', { task, pool: newPool({ ...pool }), config, issuer: 'https://issuer', capabilities }));
};

/** Fields that a task and a pool have. */
const common = {
  image: 'python:3',
  resources: { requests: { cpu: 1 }, limits: { memory: '3Gi' } },
  workspaceSizeLimit: '10Mi',
  runtimeClassName: 'gvisor',
};

/** Fields of a pool alone. */
const ofPoolAlone = {
  nodeSelector: { 'example.com/pool': 'agents' },
  tolerations: [{ key: 'agents', operator: 'Equal', value: 'only', effect: 'NoExecute' }],
  priorityClassName: 'low',
  podMetadata: { labels: { team: 'parser' }, annotations: { 'example.com/note': 'hello' } },
};
const template = { ...common, ...ofPoolAlone };

describe('the sandbox of a task', () => {
  test.each([
    ['the task with its pool', podOf({ sandbox: common }, { sandbox: { template: ofPoolAlone } })],
    ['the pool', podOf({}, { sandbox: { template } })],
  ])('obeys every field that %s sets', (_, { metadata, spec }) => {
    const tools = spec?.containers.find(({ name }) => name === 'tools');
    const keeper = spec?.containers.find(({ name }) => name === 'keeper');
    expect(tools).toMatchObject({ image: 'python:3', resources: template.resources });
    expect(keeper?.env).toContainEqual({ name: 'AGENTFLEET_WORKSPACE_LIMIT_BYTES', value: String(10 * 1024 ** 2) });
    expect(keeper?.env).toContainEqual({ name: 'AGENTFLEET_RUNTIME_CLASS', value: 'gvisor' });
    const { runtimeClassName, nodeSelector, tolerations, priorityClassName } = template;
    expect(spec).toMatchObject({ runtimeClassName, nodeSelector, tolerations, priorityClassName });
    expect(metadata).toMatchObject(template.podMetadata);
  });

  test('takes a field of the task before that of the pool, and the defaults of the administrator last', () => {
    const tools = (spec: object, pool: object) => podOf(spec, pool).spec?.containers.find(({ name }) => name === 'tools')?.image;
    const ofPool = { sandbox: { template: { image: 'node:24' } } };
    expect([tools({}, {}), tools({}, ofPool), tools({ sandbox: { image: 'go:1' } }, ofPool)]).toEqual(['tools:1', 'node:24', 'go:1']);
  });

  test('belongs to its task, waits for our word before it goes, and answers the workers of its pool only', () => {
    const { metadata, spec } = podOf({});
    expect(metadata).toMatchObject({
      name: 'one-1',
      finalizers: ['agentfleet.dev/sandbox'],
      ownerReferences: [{ kind: 'AgentTask', uid: 'u-1', controller: true }],
      labels: { 'agentfleet.dev/component': 'sandbox', 'agentfleet.dev/task': 'one', 'agentfleet.dev/pool': 'coding' },
    });
    expect(spec?.containers[0]?.env).toContainEqual({ name: 'AGENTFLEET_CLIENT', value: 'system:serviceaccount:platform:coding-worker' });
    expect(spec?.hostUsers).toBeUndefined();
  });

  test('has its own users where that is demanded, unless a RuntimeClass takes their place', () => {
    expect(podOf({ policy: { minIsolation: 'UserNamespace' } }).spec?.hostUsers).toBe(false);
    expect(podOf({}, { policy: { minIsolation: 'UserNamespace' } }).spec?.hostUsers).toBe(false);
    expect(podOf({ policy: { minIsolation: 'RuntimeClass' }, sandbox: { runtimeClassName: 'gvisor' } }).spec?.hostUsers).toBeUndefined();
  });

  test('has its own users where every node can give them, or as the pool sets it', () => {
    const users = (userNamespace: string, ...nodes: Node[]) =>
      podOf({}, { sandbox: { userNamespace } }, { nodes, runtimeClasses: [] }).spec?.hostUsers;
    expect([users('Auto', node(true)), users('Auto', node(true), node(false)), users('Auto', node(false))]).toEqual([
      false,
      undefined,
      undefined,
    ]);
    expect([users('Always', node(false)), users('Never', node(true))]).toEqual([false, undefined]);
  });

  test('has a name that fits a label and distinguishes epochs and tasks', () => {
    expect(sandboxName('fix-parser', 12)).toBe('fix-parser-12');
    const long = 't'.repeat(63);
    expect(sandboxName(long, 1)).toHaveLength(63);
    expect(new Set([sandboxName(long, 1), sandboxName(long, 2_147_483_647), sandboxName(`${long.slice(1)}x`, 1)]).size).toBe(3);
    expect(sandboxName(long, 2_147_483_647)).toMatch(/^t+-[0-9a-f]{8}-2147483647$/);
  });
});
