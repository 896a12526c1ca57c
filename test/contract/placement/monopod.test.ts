// Engines of one pool in one pod: what the operator makes, on a real API server with its scheduler. There is no kubelet:
// the test says that a pod which is bound is ready.
import { findCondition, type KubeObject } from '@agentfleet/kube';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../../operator/src/runtime/objects.ts';
import { resources } from '../../../operator/src/runtime/resources.ts';
import { enginesIn } from '../../../operator/src/serving/index.ts';
import { connect, enabled, install, type Server } from '../api/server.ts';
import { GpuNode } from './gpuNode.ts';
import { PlacementStage } from './stage.ts';

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
}

interface Told {
  readonly name: string;
  readonly port: number;
  readonly gpus: readonly number[];
}

interface ServiceSpec {
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
}

describe.runIf(enabled)('the operator puts the engines of a pool into one pod', { timeout: 120_000 }, () => {
  let server: Server;
  let gpus: GpuNode;
  let stage: PlacementStage;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    gpus = await GpuNode.start(server);
    await gpus.beat();
    await gpus.count(4);
    stage = await PlacementStage.start(gpus);
  });
  afterAll(async () => {
    await stage.close();
    await gpus.close();
  });

  const plan = async (): Promise<PlanStatus | undefined> => (await stage.pool('fleet')).status?.plan;
  const monopods = async (): Promise<readonly Pod[]> => (await stage.pods()).filter((pod) => enginesIn(pod).size > 0);
  const containerOf = (pod: Pod | undefined): Container | undefined => pod?.spec?.containers?.[0];
  const bound = async (engines: number): Promise<boolean> => {
    const [pod, ...others] = await monopods();
    const here = others.length === 0 && pod?.spec?.nodeName === gpus.node && enginesIn(pod).size === engines;
    const { experts = [] } = (await stage.pool('fleet')).status ?? {};
    return here && experts.length === engines && experts.every(({ phase, ready }) => phase === 'Ready' && ready === 1);
  };
  const expert = (name: string, role: string, slot: string): Readonly<Record<string, unknown>> => ({
    name,
    role,
    replicas: 1,
    domains: ['*'],
    engine: { type: 'Synth' },
    resources: { slot: `${gpus.node}/${slot}`, memory: { budget: '9Gi' } },
  });

  it('one pod is bound that has the GPUs of all slots, as nobody hands out GPUs by environment', async () => {
    const began = performance.now();
    const experts = [expert('gen', 'Generalist', 'gpu0'), expert('py', 'Specialist', 'gpu1'), expert('js', 'Specialist', 'gpu1')];
    await stage.createPool('fleet', experts);
    await stage.until('one pod with three engines is bound and all are told as ready', () => bound(3));
    console.log(`monopod: ${(performance.now() - began).toFixed(0)} ms from YAML to one pod bound with three engines`);
    expect(await plan()).toMatchObject({ mode: 'Monopod' });
    expect((await plan())?.skippedModes?.map(({ mode }) => mode)).toEqual(['DRA', 'Reservation', 'WholeGPU']);
    const [pod] = await monopods();
    expect(containerOf(pod)?.resources?.limits?.['nvidia.com/gpu']).toBe('2');
    expect(containerOf(pod)?.args).toEqual(['supervise']);
    const list = containerOf(pod)?.env?.find(({ name }) => name === 'AGENTFLEET_SUPERVISE')?.value ?? '[]';
    expect((JSON.parse(list) as readonly Told[]).map(({ name, port, gpus: seen }) => [name, port, seen])).toEqual([
      ['gen', 7081, [0]],
      ['js', 7082, [1]],
      ['py', 7083, [1]],
    ]);
  });

  it('each Service has its engine in it, by the port that only this engine has', async () => {
    const services = (await stage.client(resources.services).list({ namespace: gpus.namespace })) as readonly (KubeObject & {
      readonly spec?: ServiceSpec;
    })[];
    const [pod] = await monopods();
    const numbers = ['gen', 'js', 'py'].map((name) => {
      const { selector = {}, ports = [] } = services.find(({ metadata }) => metadata.name === `fleet-expert-${name}`)?.spec ?? {};
      expect(Object.entries(selector).every(([key, value]) => pod?.metadata.labels?.[key] === value)).toBe(true);
      expect(ports.map(({ port }) => port)).toEqual([7080]);
      return containerOf(pod)?.ports?.find((known) => known.name === ports[0]?.targetPort)?.containerPort;
    });
    expect(numbers).toEqual([7081, 7082, 7083]);
  });

  it('the scheduler counts what it has: two GPUs of four are left', async () => {
    const ask = (count: number): object => ({ limits: { 'nvidia.com/gpu': String(count) } });
    await gpus.createPod('three', {}, ask(3));
    expect(await gpus.refusal('three')).toMatch(/Insufficient nvidia.com\/gpu/);
    await server.ask('DELETE', `/api/v1/namespaces/${gpus.namespace}/pods/three?gracePeriodSeconds=0`);
  });

  it('an engine that goes leaves the others in one pod of fewer GPUs', async () => {
    const body = { spec: { experts: [expert('py', 'Generalist', 'gpu1'), expert('js', 'Specialist', 'gpu1')] } };
    await stage.client(resources.expertPools).patch({ namespace: gpus.namespace, name: 'fleet' }, body);
    await stage.until('one pod has the two', () => bound(2));
    expect(containerOf((await monopods())[0])?.resources?.limits?.['nvidia.com/gpu']).toBe('1');
    expect(findCondition((await stage.pool('fleet')).status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'True' });
  });

  it('what cannot be in it is refused in words, and what runs stays', async () => {
    const [before] = await monopods();
    const two = { ...expert('js', 'Specialist', 'gpu1'), replicas: 2 };
    const body = { spec: { experts: [expert('py', 'Generalist', 'gpu1'), two] } };
    await stage.client(resources.expertPools).patch({ namespace: gpus.namespace, name: 'fleet' }, body);
    const told = async (): Promise<boolean> =>
      (await plan())?.skippedModes?.some(({ mode, reason }) => mode === 'Monopod' && reason.includes('2 replicas')) === true;
    await stage.until('it is told', told);
    expect((await monopods()).map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
  });

  it('nothing is left of it when the pool goes', async () => {
    await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name: 'fleet' });
    await stage.until('no pod is left', async () => (await stage.pods()).length === 0);
  });
});
