import { findCondition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import { acknowledgeAnnotation, readBook } from './slots.ts';
import type { PlacementSnapshot } from './decide.ts';
import { box, device, gpuPool, onGpu } from './testing/box.ts';
import { atRest } from './testing/losses.ts';
import { settle } from './testing/world.ts';

const slot = 'dgx-1/gpu0';
const since = '2030-01-01T08:00:00Z';
const xid = (timeAdded: string | undefined, key = 'gpu.nvidia.com/xid') => ({
  key,
  value: '79',
  effect: 'NoExecute' as const,
  ...(timeAdded === undefined ? {} : { timeAdded }),
});

describe('a taint that is left over', () => {
  const rest = atRest(1, { pools: [gpuPool('p', [onGpu('gen', 'Generalist', '9Gi', slot)])] });
  const conditionValue = ({ pools }: PlacementSnapshot) => findCondition(pools[0]?.status?.conditions, 'PlacementFeasible');
  const place = ({ pools }: PlacementSnapshot) => pools[0]?.status?.plan?.assignments[0];
  const tainted = (taints: readonly ReturnType<typeof xid>[], said?: string): PlacementSnapshot => {
    const book = readBook({ metadata: { annotations: said === undefined ? {} : { [acknowledgeAnnotation]: said } } });
    const cluster = { ...rest.cluster, slices: box([device(0, { taints })]).slices };
    return settle({ ...rest, cluster: { ...cluster, book: { ...rest.cluster.book, acknowledged: book.acknowledged } } });
  };

  test('is reported with the very words that acknowledge it', () => {
    const reported = conditionValue(tainted([xid(since)]));
    expect(reported).toMatchObject({ status: 'False', reason: 'SlotTainted' });
    expect(reported?.message).toContain(
      `(annotate ConfigMap agentfleet-slots of the operator: ${acknowledgeAnnotation}=${slot}=gpu.nvidia.com/xid@${since})`,
    );
  });

  test('keeps no engine away when a person acknowledges it, and the scheduler learns it by a claim of another name', () => {
    const world = tainted([xid(since)], `dgx-1/gpu7=a@b, ${slot}=gpu.nvidia.com/xid@${since}`);
    expect(conditionValue(world)).toMatchObject({ status: 'True' });
    expect(place(world)).toMatchObject({ slot, admitted: true });
    expect(place(world)?.claim).not.toBe(place(rest)?.claim);
    expect(world.claims.map(({ metadata }) => metadata.name)).toEqual([place(world)?.claim]);
    expect(JSON.stringify(world.claims[0])).toContain('"tolerations":[{"key":"gpu.nvidia.com/xid","operator":"Exists"}]');
    // The taint goes at last, and no tenant is restarted for that.
    const well = settle({ ...world, cluster: { ...world.cluster, slices: box([device(0)]).slices } });
    expect(place(well)).toEqual(place(world));
  });

  test.each([
    ['that is set anew', [xid('2030-01-02T00:00:00Z')], `${slot}=gpu.nvidia.com/xid@${since}`],
    ['of another kind', [xid(since), xid(since, 'gpu.nvidia.com/ecc')], `${slot}=gpu.nvidia.com/xid@${since}`],
    ['of another slot', [xid(since)], `dgx-1/gpu1=gpu.nvidia.com/xid@${since}`],
    ['without its time', [xid(since)], `${slot}=gpu.nvidia.com/xid`],
    ['in other words', [xid(since)], `${slot} gpu.nvidia.com/xid`],
  ])('%s is another one', (_, taints, said) => {
    expect(conditionValue(tainted(taints, said))).toMatchObject({ status: 'False', reason: 'SlotTainted' });
  });

  test('of a driver that reports no time is acknowledged by its key', () => {
    expect(conditionValue(tainted([xid(undefined)], `${slot}=gpu.nvidia.com/xid`))).toMatchObject({ status: 'True' });
  });
});
