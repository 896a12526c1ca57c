import { findCondition, ResourceClient } from '@agentfleet/kube';
import { describe, expect, it } from 'vitest';
import type { Deployment, Node, Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import { onGpu } from '../placement/testing/box.ts';
import { pluginNode } from '../placement/testing/plugin.ts';
import { Bed } from './testing/bed.ts';

const engine = { engine: { type: 'Synth' }, replicas: 1 };
const experts = [
  { ...onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu0'), ...engine },
  { ...onGpu('js', 'Specialist', '9Gi', 'dgx-1/gpu0'), domains: ['js'], ...engine },
];
const digestAt = (port: string | undefined): string => `sha256:${(port === '7081' ? 'a' : 'b').repeat(64)}`;

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly containers?: readonly { readonly name: string; readonly image?: string }[] };
}

/** A pod of the common Deployment that has an address and is not ready. */
async function startPod(bed: Bed): Promise<void> {
  const found = bed.server.objects<Deployment>(resources.deployments).find(({ metadata }) => metadata.name === 'coding-monopod');
  const { metadata: { labels = {}, annotations = {} } = {}, spec } = (found?.spec?.template ?? {}) as Template;
  const containers = (spec?.containers ?? []).map(({ name, image = '' }) => ({ name, image }));
  const pods = new ResourceClient<Pod>(bed.transport, resources.pods);
  const metadata = { name: 'coding-monopod-1', namespace: 'platform', labels, annotations };
  await pods.create({ metadata, spec: { nodeName: 'dgx-1', containers } });
  await pods.patch(metadata, { status: { phase: 'Running', podIP: '10.0.0.7' } }, { subresource: 'status' });
}

describe('the operator with engines in one pod', () => {
  it('tells which of them is not ready, by what their supervisor says, and then what each is', async () => {
    await using bed = await Bed.start();
    const asked: string[] = [];
    bed.ask = (origin) => {
      asked.push(origin);
      const port = origin.split(':').at(-1);
      if (port !== '7080') return Promise.resolve({ modelDigest: digestAt(port) });
      const lastExit = { code: 7, signal: null };
      const state = { restarts: 0, lastExit: null };
      return Promise.resolve({
        children: [
          { ...state, name: 'gen', ready: true },
          { name: 'js', ready: false, restarts: 2, lastExit },
        ],
      });
    };
    const { metadata, status } = pluginNode('one', 2);
    const nodes = new ResourceClient<Node>(bed.transport, resources.nodes);
    await nodes.create({ metadata });
    await nodes.patch(metadata, { status }, { subresource: 'status' });
    await bed.create(resources.expertPools, newPool({ experts, workers: { replicas: 0 } }));
    void bed.startOperator().catch(() => {});
    const names = (): readonly string[] => bed.server.objects(resources.deployments).map((object) => object.metadata.name);
    await bed.until('the pod of all engines is made', () => names().includes('coding-monopod'));
    expect(names()).toEqual(['coding-monopod', 'coding-workers']);
    expect(bed.pool().status?.plan).toMatchObject({ mode: 'Monopod' });
    expect(findCondition(bed.pool().status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'True' });

    await startPod(bed);
    const stateOf = (name: string) => bed.pool().status?.experts?.find((one) => one.name === name);
    await bed.until('one of them is told as ready', () => stateOf('gen')?.phase === 'Ready');
    expect(stateOf('gen')).toMatchObject({ ready: 1, digest: digestAt('7081') });
    expect(stateOf('js')).toMatchObject({
      phase: 'Starting',
      ready: 0,
      message: 'in pod coding-monopod: ended with exit code 7, restarted 2 times',
    });
    // Only who is ready is asked what it is.
    expect(new Set(asked)).toEqual(new Set(['http://10.0.0.7:7080', 'http://10.0.0.7:7081']));

    const ready = { phase: 'Running', podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'True' }] };
    const pods = new ResourceClient<Pod>(bed.transport, resources.pods);
    await pods.patch({ namespace: 'platform', name: 'coding-monopod-1' }, { status: ready }, { subresource: 'status' });
    await bed.rollOut('coding-monopod', 1);
    await bed.until('both tell what they are', () => stateOf('js')?.digest === digestAt('7082'));
    for (const name of ['gen', 'js']) expect(stateOf(name)).toMatchObject({ phase: 'Ready', ready: 1 });
    expect(findCondition(bed.pool().status?.conditions, 'EnginesReady')).toMatchObject({ status: 'True' });
    await bed.quiet();
  });
});
