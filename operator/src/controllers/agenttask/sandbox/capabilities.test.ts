import { describe, expect, test } from 'vitest';
import type { Node, RuntimeClass } from '../../../runtime/resources.ts';
import { unsupported } from '../acceptance.ts';
import { NodeAbilities } from '../../../runtime/context.ts';
import { handlerOffered, hasOwnUsers, imageVolumes, nodesWithUsers, userNamespaces, type ClusterCapabilities } from './capabilities.ts';
import { templateHash, warmPod } from './template.ts';
import { config } from '../testing/stage.ts';
import { newPool } from '../testing/objects.ts';
import { snapshotOf, taskOf } from '../testing/snapshots.ts';

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
const capabilities = (...nodes: Node[]): ClusterCapabilities => ({ nodes, runtimeClasses: [gvisor] });

describe('user namespaces', () => {
  test.each([
    ['All', [able, mixed]],
    ['Some', [able, bare]],
    ['Some', [able, old]],
    ['None', [bare]],
    ['Unknown', [old]],
    ['Unknown', []],
  ] as const)('are offered by %s of these nodes', (share, nodes) => {
    expect(userNamespaces(capabilities(...nodes), {})).toBe(share);
  });

  test('are those of the handler that the sandbox runs with, on the nodes that it may run on', () => {
    expect(userNamespaces(capabilities(able, mixed), { runtimeClassName: 'gvisor' })).toBe('None');
    expect(userNamespaces(capabilities(bare, mixed), { nodeSelector: { pool: 'agents' } })).toBe('All');
  });

  test('are asked for where every node has them, and where they are demanded', () => {
    expect(hasOwnUsers('Auto', 'Landlock', capabilities(able), {})).toBe(true);
    expect(hasOwnUsers('Auto', 'Landlock', capabilities(able, bare), {})).toBe(false);
    expect(hasOwnUsers('Auto', 'UserNamespace', capabilities(bare), {})).toBe(true);
    expect(hasOwnUsers('Auto', 'UserNamespace', capabilities(mixed), { runtimeClassName: 'gvisor' })).toBe(false);
    expect(hasOwnUsers('Never', 'Landlock', capabilities(able), {})).toBe(false);
  });
});

describe('a node that comes or goes', () => {
  const many = (count: number, handlers: Readonly<Record<string, boolean>> | undefined, name: string): readonly Node[] =>
    Array.from({ length: count }, (_, at) => node(`${name}-${at}`, handlers, { 'kubernetes.io/hostname': `${name}-${at}` }));
  const yes = (count: number): readonly Node[] => many(count, { '': true }, 'yes');
  const no = (count: number): readonly Node[] => many(count, { '': false }, 'no');
  const quiet = (count: number): readonly Node[] => many(count, undefined, 'quiet');

  test.each([
    ['one that cannot among many that can', [[yes(9)], [yes(9), no(1)], [yes(9)]], [true, true, true]],
    ['one that does not report', [[yes(2)], [yes(2), quiet(1)]], [true, true]],
    ['none that reports for a moment', [[yes(2)], [], [yes(2)]], [true, true, true]],
    ['one of two', [[yes(1)], [yes(1), no(1)], [yes(1), no(2)], [yes(1), no(3)], [yes(1), no(1)]], [true, true, true, false, false]],
    ['one that can among many that cannot', [[no(9)], [no(9), yes(1)]], [false, false]],
    [
      'as many as make a majority',
      [
        [no(2), yes(1)],
        [no(2), yes(4)],
        [no(2), yes(3)],
        [no(4), yes(2)],
      ],
      [false, true, true, true],
    ],
    ['the last one that can', [[yes(1)], [no(1)]], [true, false]],
  ] as const)('%s', (_, moments, expected) => {
    const abilities = new NodeAbilities();
    const grounds = moments.map((nodes) => ({ nodes: nodes.flat(), runtimeClasses: [], abilities }));
    // Asked twice: an answer is no reason for another one.
    expect(grounds.map((at) => [hasOwnUsers('Auto', 'Container', at, {}), hasOwnUsers('Auto', 'Container', at, {})][1])).toEqual(expected);
  });

  test('is left out when it cannot, or does not say that it can', () => {
    expect(nodesWithUsers(capabilities(...yes(3)), {})).toBeUndefined();
    expect(nodesWithUsers(capabilities(...yes(3), ...no(1), ...quiet(1)), {})).toEqual({ operator: 'NotIn', values: ['no-0', 'quiet-0'] });
    expect(nodesWithUsers(capabilities(...yes(1), ...no(3)), {})).toEqual({ operator: 'In', values: ['yes-0'] });
    expect(nodesWithUsers(capabilities(...quiet(3)), {})).toBeUndefined();
  });

  test('does not turn sandboxes over that wait, and the next one is put where it can run', () => {
    const abilities = new NodeAbilities();
    const source = (...nodes: readonly Node[]) => ({
      pool: newPool(),
      config,
      issuer: 'https://kubernetes.default.svc',
      capabilities: { nodes, runtimeClasses: [], abilities },
    });
    const [before, after] = [source(...yes(3)), source(...yes(3), ...no(1), ...quiet(1))];
    expect(templateHash(before, 'Container')).toBe(templateHash(after, 'Container'));
    const { spec } = warmPod(after, 'team') as { readonly spec?: unknown };
    const term = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['no-0', 'quiet-0'] }] };
    expect(spec).toMatchObject({
      hostUsers: false,
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
    });
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
  expect(imageVolumes(capabilities(...nodes), {})).toBe(can);
  expect(imageVolumes(capabilities(...nodes), { runtimeClassName: 'gvisor' })).toBe(false);
});

test('a handler is looked for where the RuntimeClass selects nodes', () => {
  const selective = { nodes: [able, mixed], runtimeClasses: [{ ...gvisor, scheduling: { nodeSelector: { pool: 'agents' } } }] };
  expect(handlerOffered(selective, { runtimeClassName: 'gvisor' }, 'runsc')).toBe('All');
  expect(handlerOffered(selective, { runtimeClassName: 'gvisor', nodeSelector: { pool: 'other' } }, 'runsc')).toBe('Unknown');
});

describe('a task is refused, with what is missing,', () => {
  const refusal = (
    on: ClusterCapabilities,
    { sandbox = {}, mode = 'Auto' }: { sandbox?: object; mode?: string },
    floor = 'Landlock' as const,
  ) =>
    unsupported({ ...snapshotOf(taskOf(undefined, { sandbox })), capabilities: on }, newPool({ sandbox: { userNamespace: mode } }), floor);

  test('when its RuntimeClass does not exist', () => {
    expect(refusal({ nodes: [able], runtimeClasses: [] }, { sandbox: { runtimeClassName: 'gvisor' } })).toMatchObject({
      reason: 'RuntimeClassNotFound',
      stalled: true,
      message: expect.stringContaining('create it') as string,
    });
  });

  test('when no node has its handler, and not when one has or none reports', () => {
    const needs = { sandbox: { runtimeClassName: 'gvisor' } };
    expect(refusal(capabilities(able), needs)).toMatchObject({
      reason: 'RuntimeHandlerMissing',
      message: expect.stringContaining('runsc') as string,
    });
    expect(refusal(capabilities(able, mixed), needs)).toBeUndefined();
    expect(refusal(capabilities(old), needs)).toBeUndefined();
  });

  test('when users of its own are demanded and no node has them, or the pool forbids them', () => {
    const demanded = 'UserNamespace' as never;
    expect(refusal(capabilities(bare), {}, demanded)).toMatchObject({ reason: 'UserNamespacesUnavailable' });
    expect(refusal(capabilities(bare), { mode: 'Always' })).toMatchObject({ reason: 'UserNamespacesUnavailable' });
    expect(refusal(capabilities(able), { mode: 'Never' }, demanded)).toMatchObject({ reason: 'IsolationBelowFloor' });
    expect(refusal(capabilities(able), {}, demanded)).toBeUndefined();
    expect(refusal(capabilities(bare), {})).toBeUndefined();
  });
});
