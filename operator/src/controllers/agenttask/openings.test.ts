import { ResourceClient } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, test } from 'vitest';
import { type NetworkPolicy, resources } from '../../runtime/resources.ts';
import { openedMessage, openingsOf } from './sandbox/state.ts';
import { sandboxNetworkPolicy } from './sandbox/pod.ts';
import { Bed } from './testing/bed.ts';
import { condition, finish, isReady, reported } from './testing/look.ts';
import { newPool, newTask } from './testing/objects.ts';
import { obedient, playWorkers, succeeds, works } from './testing/scriptedWorker.ts';

type Spec = NonNullable<NetworkPolicy['spec']>;

const policy = (name: string, spec: Spec): NetworkPolicy => ({ metadata: { name, namespace: 'team' }, spec });
const others = { matchExpressions: [{ key: labels.component, operator: 'NotIn', values: ['sandbox'] }] } as const;
const everybody = { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [{}], egress: [{}] };

describe('a NetworkPolicy', () => {
  const labelled = newTask('one');
  const opened = { sandbox: { template: { podMetadata: { labels: { app: 'web' } } } } };
  const adds = (spec: Spec): string | undefined =>
    openingsOf([policy('p', spec)], { task: labelled, pool: newPool(opened), pods: [] })[0]?.adds;

  test.each<readonly [string, Spec, string | undefined]>([
    ['for all pods opens both ways', everybody, 'ingress and egress'],
    ['without types is about ingress', { podSelector: {}, ingress: [{}] }, 'ingress'],
    ['without types and with egress is about that too', { podSelector: {}, egress: [{}] }, 'egress'],
    ['by a label of its template opens it', { ...everybody, podSelector: { matchLabels: { app: 'web' } } }, 'ingress and egress'],
    ['by our own label opens it', { ...everybody, podSelector: { matchLabels: { [labels.task]: 'one' } } }, 'ingress and egress'],
    ['of other pods does not', { ...everybody, podSelector: { matchLabels: { app: 'db' } } }, undefined],
    ['that leaves sandboxes out does not', { ...everybody, podSelector: others }, undefined],
    ['that denies adds nothing', { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [], egress: [] }, undefined],
    ['with rules of a direction that it is not about adds nothing', { podSelector: {}, policyTypes: ['Ingress'], egress: [{}] }, undefined],
  ])('%s', (_what, spec, expected) => expect(adds(spec)).toBe(expected));

  test('is held against the labels that a pod really has', () => {
    const pods = [{ metadata: { name: 'one-1', labels: { [labels.component]: 'sandbox', later: 'added' } } }];
    const opening = policy('p', { ...everybody, podSelector: { matchLabels: { later: 'added' } } });
    expect(openingsOf([opening], { task: newTask('one'), pool: newPool(), pods })).toHaveLength(1);
    expect(openingsOf([opening], { task: newTask('one'), pool: newPool(), pods: [] })).toEqual([]);
  });

  test.each<readonly [string, Partial<Spec>, string]>([
    ['that got a way out', { egress: [{}] }, 'egress'],
    ['that got a second door', { ingress: [{}, {}] }, 'ingress'],
    ['that leaves sandboxes out', { podSelector: { matchLabels: { [labels.component]: 'sandbox', other: 'x' } } }, 'ingress and egress'],
  ])('of ours %s by another writer is no wall, and is named with the cure', (_what, change, expected) => {
    const { metadata, spec } = sandboxNetworkPolicy('team', ['platform']) as unknown as NetworkPolicy;
    const found = openingsOf([{ metadata, spec: { ...spec, ...change } }], { task: labelled, pool: newPool(), pods: [] });
    expect(found).toEqual([{ policy: 'agentfleet-sandbox', adds: expected }]);
    expect(openedMessage(labelled, found)).toMatch(
      /^NetworkPolicy team\/agentfleet-sandbox .* delete team\/agentfleet-sandbox, which is made/,
    );
  });

  test('of ours is the wall itself; of others some are named with the cure', () => {
    const ours = sandboxNetworkPolicy('team', ['platform']) as unknown as NetworkPolicy;
    expect(openingsOf([ours], { task: labelled, pool: newPool(), pods: [] })).toEqual([]);
    const many = openingsOf(
      ['d', 'c', 'b', 'a'].map((name) => policy(name, everybody)),
      { task: labelled, pool: newPool(), pods: [] },
    );
    expect(openedMessage(labelled, many)).toMatch(
      /^NetworkPolicy team\/a \(ingress and egress\), .* and 1 more selects .*NotIn, values: \[sandbox\]/,
    );
  });
});

describe('a task whose wall a policy of its namespace opens', () => {
  const policies = (bed: Bed): ResourceClient<NetworkPolicy> => new ResourceClient(bed.transport, resources.networkPolicies);
  const open = (bed: Bed): Promise<unknown> => policies(bed).create(policy('allow-all', everybody));

  test('does not begin until the policy leaves sandboxes alone', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, obedient(succeeds));
    await open(bed);
    await bed.create(newTask('one'));
    await bed.until('it is reported', () => reported(bed.task('one'), 'Accepted') === 'False/NetworkOpened');
    expect(condition(bed.task('one'), 'NetworkOpened')).toMatchObject({ status: 'True', reason: 'NetworkPolicyAdds' });
    expect(condition(bed.task('one'), 'Ready')?.message).toContain('NetworkPolicy team/allow-all');
    expect(bed.sandboxes()).toEqual([]);
    await policies(bed).patch({ namespace: 'team', name: 'allow-all' }, { spec: { podSelector: others } });
    const task = await finish(bed);
    expect(task.status?.phase).toBe('Succeeded');
    expect(condition(task, 'NetworkOpened')).toBeUndefined();
  });

  test('ends its attempt when that happens while it runs', async () => {
    await using bed = await Bed.start();
    playWorkers(
      bed,
      obedient(() => works),
    );
    await bed.create(newTask('one', { attempts: { max: 1 } }));
    await bed.until('it runs', () => isReady(bed)() && bed.task('one').status?.run !== undefined);
    await open(bed);
    await bed.until('its attempt has ended', () => bed.task('one').status?.attempts?.length === 1);
    expect(bed.task('one').status?.attempts).toMatchObject([{ class: 'PolicyViolation', reason: 'NetworkOpened' }]);
  });

  test('reports it and goes on where the pool does without a wall', async () => {
    await using bed = await Bed.start(newPool({ policy: { allowUnenforcedNetwork: true } }));
    playWorkers(
      bed,
      obedient(() => works),
    );
    await open(bed);
    await bed.create(newTask('one'));
    await bed.until('it runs', isReady(bed));
    expect(reported(bed.task('one'), 'NetworkOpened')).toBe('True/NetworkPolicyAdds');
    await policies(bed).delete({ namespace: 'team', name: 'allow-all' });
    await bed.until('it is closed again', () => condition(bed.task('one'), 'NetworkOpened') === undefined);
  });
});
