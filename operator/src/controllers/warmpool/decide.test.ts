import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, test } from 'vitest';
import { templateAnnotation } from '../../pools/resolve.ts';
import type { Pod } from '../../runtime/resources.ts';
import { warmCounts, decideWarm, startingAtOnce, type WarmPlace } from './decide.ts';
import { poolNamespaceLabel } from '../../runtime/caches.ts';

const now = Date.UTC(2030, 0, 1, 1);
const running = (ready: boolean): Pod['status'] => ({
  phase: 'Running',
  containerStatuses: ['keeper', 'tools'].map((name) => ({ name, ready, restartCount: 0, state: { running: {} } })),
});

const silent: Pod['status'] = { ...running(true), conditions: [{ type: 'Ready', status: 'False' }] };

interface Look {
  readonly age?: number;
  readonly ready?: boolean;
  readonly template?: string;
  readonly status?: Pod['status'];
  readonly going?: boolean;
  readonly taken?: boolean;
}

const pod = (
  name: string,
  { age = 10, ready = true, template = 't1', status = running(ready), going = false, taken = false }: Look = {},
): Pod => ({
  metadata: {
    name,
    namespace: 'team',
    creationTimestamp: new Date(now - age * 1000).toISOString(),
    labels: {
      [labels.component]: 'sandbox',
      [labels.pool]: 'coding',
      [poolNamespaceLabel]: 'platform',
      ...(taken ? { [labels.task]: 'one' } : { [labels.warm]: 'true' }),
    },
    annotations: { [templateAnnotation]: template },
    ...(going ? { deletionTimestamp: '2030-01-01T00:59:59Z' } : {}),
  },
  ...(status === undefined ? {} : { status }),
});

/** Those of others are called so. */
const isOurs = ({ metadata }: Pod): boolean => !metadata.name.startsWith('foreign');

/** Those of nodes that take no pods are called so. */
const isCordoned = ({ metadata }: Pod): boolean => metadata.name.startsWith('cordoned');

const place = (replicas: number, pods: readonly Pod[], change: Partial<WarmPlace> = {}): WarmPlace => ({
  namespace: 'team',
  entry: { namespace: 'team', replicas, maxAgeSeconds: 100 },
  prepared: true,
  pods,
  ...change,
});

function effect(at: WarmPlace): readonly string[] {
  return decideWarm({ places: [at], template: 't1', isOurs, isCordoned, madeAt: new Map() }, now).actions.map((action) =>
    action.type === 'create' ? `create ${action.count}` : `delete ${action.pod.metadata.name}`,
  );
}

describe('sandboxes that wait', () => {
  test.each<readonly [string, WarmPlace, readonly string[]]>([
    ['are made when there are none', place(2, []), ['create 2']],
    ['that somebody else made go, and count for nothing', place(1, [pod('foreign')]), ['delete foreign', 'create 1']],
    ['are made a few at a time', place(40, []), [`create ${startingAtOnce}`]],
    [
      'are not made while as many are starting',
      place(
        40,
        Array.from({ length: startingAtOnce }, (_, at) => pod(`p${at}`, { ready: false })),
      ),
      [],
    ],
    ['are filled up', place(3, [pod('a'), pod('b', { ready: false })]), ['create 1']],
    ['are left alone', place(2, [pod('a'), pod('b')]), []],
    ['that go are none', place(1, [pod('a', { going: true })]), ['create 1']],
    ['are not made where nothing is prepared, and stay', place(2, [pod('a')], { prepared: false }), []],
    ['go when nobody may want them', place(2, [pod('a'), pod('b', { going: true })], { entry: undefined }), ['delete a']],
    [
      'are fewer when fewer are asked for, the unready first',
      place(1, [pod('a'), pod('b', { ready: false, age: 1 }), pod('c', { age: 5 })]),
      ['delete b', 'delete a'],
    ],
    ['go at once when the template has changed', place(1, [pod('a', { template: 't0' })]), ['delete a', 'create 1']],
    ['that have ended are replaced', place(1, [pod('a', { age: 30, status: { phase: 'Failed' } })]), ['delete a', 'create 1']],
    ['that ended as soon as they were made are so after a while', place(2, [pod('a', { status: { phase: 'Failed' } })]), ['create 1']],
    ['of a node that does not report are replaced', place(1, [pod('a', { status: silent })]), ['delete a', 'create 1']],
    ['of a cordoned node stay until others are ready', place(1, [pod('cordoned')]), ['create 1']],
    ['of a cordoned node go when others are ready', place(1, [pod('cordoned'), pod('b')]), ['delete cordoned']],
    [
      'of a cordoned node go before old ones',
      place(2, [pod('a', { age: 120 }), pod('cordoned'), pod('b'), pod('c', { ready: false })]),
      ['delete cordoned'],
    ],
    ['that are old stay until others are ready', place(2, [pod('a', { age: 120 }), pod('b')]), ['create 1']],
    ['that are old go when others are ready', place(1, [pod('a', { age: 120 }), pod('b')]), ['delete a']],
    [
      'that are old go as others are ready',
      place(2, [pod('a', { age: 130 }), pod('b', { age: 120 }), pod('c'), pod('d', { ready: false })]),
      ['delete a'],
    ],
    [
      'are never many more than asked for, whatever the clocks say',
      place(
        1,
        Array.from({ length: 6 }, (_, at) => pod(`p${at}`, { age: 120 })),
      ),
      ['p0', 'p1', 'p2', 'p3', 'p4'].map((name) => `delete ${name}`),
    ],
    ['that are much too old go anyway', place(1, [pod('a', { age: 200 })], { prepared: false }), ['delete a']],
  ])('%s', (_, at, expected) => expect(effect(at)).toEqual(expected));

  test('are looked at again when one that ended at once may be replaced', () => {
    const places = [place(1, [pod('a', { status: { phase: 'Failed' } })])];
    expect(decideWarm({ places, template: 't1', isOurs, isCordoned, madeAt: new Map() }, now).requeueAfterMs).toBe(20_000);
  });

  test('that do not start are reported when a new node would be there', () => {
    const status: Pod['status'] = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes' }] };
    const at = (age: number) =>
      decideWarm({ places: [place(1, [pod('a', { age, status })])], template: 't1', isOurs, isCordoned, madeAt: new Map() }, now);
    expect([at(90).troubles, at(90).requeueAfterMs]).toEqual([new Map(), 10_000]);
    expect(at(119).requeueAfterMs).toBe(1000);
    expect([...at(120).troubles]).toEqual([['team', expect.objectContaining({ reason: 'Unschedulable' })]]);
    expect(at(120).troubles.get('team')?.message).toContain('0/3 nodes');
  });

  test('are looked at again when the next one comes of age', () => {
    const at = place(2, [pod('a', { age: 30 }), pod('b', { age: 130 })]);
    expect(decideWarm({ places: [at], template: 't1', isOurs, isCordoned, madeAt: new Map() }, now).requeueAfterMs).toBe(70_000);
    expect(
      decideWarm({ places: [place(0, [])], template: 't1', isOurs, isCordoned, madeAt: new Map() }, now).requeueAfterMs,
    ).toBeUndefined();
  });

  test('are as old as this process knows, where it made them', () => {
    const at = place(1, [{ ...pod('a', { age: 500 }), metadata: { ...pod('a', { age: 500 }).metadata, uid: 'u-a' } }]);
    expect(decideWarm({ places: [at], template: 't1', isOurs, isCordoned, madeAt: new Map([['u-a', now - 40_000]]) }, now)).toMatchObject({
      actions: [],
      requeueAfterMs: 60_000,
    });
  });

  test('are counted apart from those that start, that tasks have, and that go', () => {
    const pods = [pod('a'), pod('b', { ready: false }), pod('c', { taken: true }), pod('d', { going: true })];
    expect(warmCounts(pods)).toEqual({ warm: 1, starting: 1 });
  });
});
