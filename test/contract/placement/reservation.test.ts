// Engines that share GPUs of a device plugin: the operator's objects, on a real API server with its scheduler. There is
// no kubelet: the test sets the board of a pod.
import { findCondition } from '@agentfleet/kube';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holderView } from '../../../operator/src/controllers/placement/reserve/holders.ts';
import { type Pod, resources } from '../../../operator/src/runtime/resources.ts';
import { connect, enabled, install, type Server } from '../api/server.ts';
import { GpuNode } from './gpuNode.ts';
import { PlacementStage } from './stage.ts';

const board = (index: number): string => `GPU-0000000${index}-0000-4000-8000-00000000000${index}`;

interface Template {
  readonly spec?: {
    readonly runtimeClassName?: string;
    readonly containers?: readonly {
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
    }[];
  };
}

describe.runIf(enabled)('the operator holds GPUs of a device plugin', { timeout: 120_000 }, () => {
  let server: Server;
  let gpus: GpuNode;
  let stage: PlacementStage;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    await server.ask('POST', '/apis/node.k8s.io/v1/runtimeclasses', { body: { metadata: { name: 'nvidia' }, handler: 'nvidia' } });
    gpus = await GpuNode.start(server);
    await gpus.beat();
    await gpus.count(4);
    stage = await PlacementStage.start(gpus);
    const ready = stage.startsAs;
    stage.startsAs = (pod) => {
      const slot = holderView(pod)?.slot;
      const statusesOf = (answer: object): object[] => [
        {
          name: 'x',
          ready: true,
          restartCount: 0,
          image: '',
          imageID: '',
          state: { terminated: { exitCode: 0, message: JSON.stringify(answer) } },
        },
      ];
      if (slot !== undefined) return { ...ready(pod), initContainerStatuses: statusesOf({ uuid: board(Number(slot.at(-1))) }) };
      if (pod.metadata.name !== 'agentfleet-gpu-probe') return ready(pod);
      return { phase: 'Succeeded', containerStatuses: statusesOf({ gpus: 4 }) };
    };
  });
  afterAll(async () => {
    await stage.close();
    await gpus.close();
    await server.ask('DELETE', '/apis/node.k8s.io/v1/runtimeclasses/nvidia');
  });

  const plan = async (): Promise<PlanStatus | undefined> => (await stage.pool('shared')).status?.plan;
  const holders = async (): Promise<readonly Pod[]> => (await stage.pods()).filter((pod) => holderView(pod) !== undefined);
  const engines = async (): Promise<readonly Pod[]> =>
    (await stage.pods()).filter(
      (pod) => holderView(pod) === undefined && pod.metadata.annotations?.['agentfleet.dev/gpu-holder'] !== undefined,
    );
  const allBound = async (): Promise<boolean> => {
    const [held, seated] = [await holders(), await engines()];
    const uids = new Set(held.map(({ metadata }) => metadata.uid));
    const mine = seated.filter(({ metadata }) => uids.has(metadata.annotations?.['agentfleet.dev/gpu-holder']));
    return (
      held.length === 2 &&
      mine.length === 3 &&
      seated.length === 3 &&
      [...held, ...seated].every(({ spec }) => spec?.nodeName === gpus.node)
    );
  };

  it('one pod for each GPU is bound, and its tenants beside it, by the board that it reports', async () => {
    const began = performance.now();
    const expert = (name: string, role: string, slot: string): Readonly<Record<string, unknown>> => ({
      name,
      role,
      engine: { type: 'Synth' },
      resources: { slot: `${gpus.node}/${slot}`, memory: { budget: '9Gi' } },
    });
    await stage.createPool('shared', [
      expert('gen', 'Generalist', 'gpu0'),
      expert('py', 'Specialist', 'gpu1'),
      expert('js', 'Specialist', 'gpu1'),
    ]);
    await stage.until('two are held and three sit on them', allBound);
    console.log(`reservation: ${(performance.now() - began).toFixed(0)} ms from YAML to two GPUs held and three engines bound`);
    expect(await plan()).toMatchObject({ mode: 'Reservation' });
    const uuids = new Map((await plan())?.assignments.map(({ item, uuid }) => [item, uuid]));
    expect([...uuids].sort(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ['gen', board(0)],
      ['js', board(1)],
      ['py', board(1)],
    ]);
    for (const pod of await engines()) {
      const { spec } = pod as unknown as Template;
      const uuid = uuids.get(pod.metadata.labels?.['agentfleet.dev/expert'] ?? '');
      expect(spec?.runtimeClassName).toBe('nvidia');
      expect(spec?.containers?.[0]?.env).toContainEqual({ name: 'NVIDIA_VISIBLE_DEVICES', value: uuid });
      expect(spec?.containers?.[0]?.resources?.limits?.['nvidia.com/gpu']).toBeUndefined();
    }
    expect((await stage.book()).data).toMatchObject({
      bindings: expect.stringContaining(`${gpus.node}/gpu0 ${board(0)}`) as string,
      probes: expect.stringContaining(`${gpus.node} Works`) as string,
    });
  });

  it('the scheduler counts held GPUs: two of four are left', async () => {
    const ask = (count: number): object => ({ limits: { 'nvidia.com/gpu': String(count) } });
    await gpus.createPod('three', {}, ask(3));
    expect(await gpus.refusal('three')).toMatch(/Insufficient nvidia.com\/gpu/);
    await gpus.createPod('two', {}, ask(2));
    await gpus.untilBound('two');
    for (const name of ['three', 'two'])
      await server.ask('DELETE', `/api/v1/namespaces/${gpus.namespace}/pods/${name}?gracePeriodSeconds=0`);
  });

  it('a lost pod that holds a GPU is made again, and its tenants restart with the next one', async () => {
    const lost = (await holders()).find((pod) => holderView(pod)?.slot === `${gpus.node}/gpu1`)?.metadata;
    await stage.client(resources.pods).delete({ namespace: gpus.namespace, name: lost?.name ?? '' }, { gracePeriodSeconds: 0 });
    const renewed = async (): Promise<boolean> =>
      (await plan())?.assignments.every(({ admitted, holder }) => admitted && holder !== lost?.uid) === true;
    await stage.until('all are admitted with a holder that is there', renewed);
    await stage.until('all are bound again', allBound);
    expect(findCondition((await stage.pool('shared')).status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'True' });
  });

  it('no object of it is left when the pool is removed', async () => {
    await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name: 'shared' });
    await stage.until('no pod is left', async () => (await stage.pods()).length === 0);
  });
});
