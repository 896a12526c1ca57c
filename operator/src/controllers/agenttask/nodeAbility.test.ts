import { describe, expect, test } from 'vitest';
import type { Node, RuntimeClass } from '../../runtime/objects.ts';
import { withoutGround } from './groundRefusal.ts';
import { handlerOffered, hasOwnUsers, imageVolumes, userNamespaces, type Ground } from './nodeAbility.ts';
import { newPool } from './testing/objects.ts';
import { snapshotOf, taskOf } from './testing/snapshots.ts';

const node = (name: string, handlers: Readonly<Record<string, boolean>> | undefined, labels: Record<string, string> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
  ...(handlers !== undefined && {
    status: {
      runtimeHandlers: Object.entries(handlers).map(([handler, userNamespaces]) => ({ name: handler, features: { userNamespaces } })),
    },
  }),
});
const gvisor: RuntimeClass = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'gvisor' }, handler: 'runsc' };
const able = node('able', { '': true, runc: true });
const mixed = node('mixed', { '': true, runsc: false }, { pool: 'agents' });
const old = node('old', undefined);
const bare = node('bare', { '': false });
const ground = (...nodes: Node[]): Ground => ({ nodes, runtimeClasses: [gvisor] });

describe('user namespaces', () => {
  test.each([
    ['All', [able, mixed]],
    ['Some', [able, bare]],
    ['Some', [able, old]],
    ['None', [bare]],
    ['Unknown', [old]],
    ['Unknown', []],
  ] as const)('are offered by %s of these nodes', (share, nodes) => {
    expect(userNamespaces(ground(...nodes), {})).toBe(share);
  });

  test('are those of the handler that the sandbox runs with, on the nodes that it may run on', () => {
    expect(userNamespaces(ground(able, mixed), { runtimeClassName: 'gvisor' })).toBe('None');
    expect(userNamespaces(ground(bare, mixed), { nodeSelector: { pool: 'agents' } })).toBe('All');
  });

  test('are asked for where every node has them, and where they are demanded', () => {
    expect(hasOwnUsers('Auto', 'Landlock', ground(able), {})).toBe(true);
    expect(hasOwnUsers('Auto', 'Landlock', ground(able, bare), {})).toBe(false);
    expect(hasOwnUsers('Auto', 'UserNamespace', ground(bare), {})).toBe(true);
    expect(hasOwnUsers('Auto', 'UserNamespace', ground(mixed), { runtimeClassName: 'gvisor' })).toBe(false);
    expect(hasOwnUsers('Never', 'Landlock', ground(able), {})).toBe(false);
  });
});

test.each([
  [true, [['v1.36.3', 'containerd://2.2.7']]],
  [
    true,
    [
      ['v1.37.0-gke.1', 'containerd://2.1.0'],
      ['v2.0.0', 'containerd://v3.0.1'],
    ],
  ],
  [
    false,
    [
      ['v1.36.3', 'containerd://2.2.7'],
      ['v1.35.9', 'containerd://2.2.7'],
    ],
  ],
  [false, [['v1.36.3', 'containerd://2.0.9']]],
  [false, [['v1.36.3', 'cri-o://1.36.0']]],
  [false, [['', '']]],
  [false, []],
] as const)('the runner comes in a volume of its image: %s on %j', (can, versions) => {
  const nodes = versions.map(([kubeletVersion, containerRuntimeVersion], at) => ({
    ...node(`n${at}`, { '': true }),
    status: { nodeInfo: { kubeletVersion, containerRuntimeVersion } },
  }));
  expect(imageVolumes(ground(...nodes), {})).toBe(can);
  expect(imageVolumes(ground(...nodes), { runtimeClassName: 'gvisor' })).toBe(false);
});

test('a handler is looked for where the RuntimeClass selects nodes', () => {
  const selective = { nodes: [able, mixed], runtimeClasses: [{ ...gvisor, scheduling: { nodeSelector: { pool: 'agents' } } }] };
  expect(handlerOffered(selective, { runtimeClassName: 'gvisor' }, 'runsc')).toBe('All');
  expect(handlerOffered(selective, { runtimeClassName: 'gvisor', nodeSelector: { pool: 'other' } }, 'runsc')).toBe('Unknown');
});

describe('a task is refused, with what is missing,', () => {
  const refusal = (on: Ground, { sandbox = {}, mode = 'Auto' }: { sandbox?: object; mode?: string }, floor = 'Landlock' as const) =>
    withoutGround({ ...snapshotOf(taskOf(undefined, { sandbox })), ground: on }, newPool({ sandbox: { userNamespace: mode } }), floor);

  test('when its RuntimeClass does not exist', () => {
    expect(refusal({ nodes: [able], runtimeClasses: [] }, { sandbox: { runtimeClassName: 'gvisor' } })).toMatchObject({
      reason: 'RuntimeClassNotFound',
      stalled: true,
      message: expect.stringContaining('create it') as string,
    });
  });

  test('when no node has its handler, and not when one has or none tells', () => {
    const wish = { sandbox: { runtimeClassName: 'gvisor' } };
    expect(refusal(ground(able), wish)).toMatchObject({
      reason: 'RuntimeHandlerMissing',
      message: expect.stringContaining('runsc') as string,
    });
    expect(refusal(ground(able, mixed), wish)).toBeUndefined();
    expect(refusal(ground(old), wish)).toBeUndefined();
  });

  test('when users of its own are demanded and no node has them, or the pool forbids them', () => {
    const demanded = 'UserNamespace' as never;
    expect(refusal(ground(bare), {}, demanded)).toMatchObject({ reason: 'UserNamespacesUnavailable' });
    expect(refusal(ground(bare), { mode: 'Always' })).toMatchObject({ reason: 'UserNamespacesUnavailable' });
    expect(refusal(ground(able), { mode: 'Never' }, demanded)).toMatchObject({ reason: 'IsolationBelowFloor' });
    expect(refusal(ground(able), {}, demanded)).toBeUndefined();
    expect(refusal(ground(bare), {})).toBeUndefined();
  });
});
