// The whole operator beside a node of GPUs, on a real API server with its scheduler and its controllers. There is no
// kubelet: the test marks bound pods as ready.
import { readFile } from 'node:fs/promises';
import { ResourceClient, type KubeObject, type Resource, type Transport } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { loadAll } from 'js-yaml';
import { ruled } from '../../../operator/src/revisions/testing/policies.ts';
import { type ConfigMap, type Deployment, type Pod, resources } from '../../../operator/src/runtime/resources.ts';
import { operatorTransport } from '../operatorAccount.ts';
import { until } from '../api/server.ts';
import { administrator, contractConfig, counted, runOperator } from '../wholeOperator.ts';
import { driver, type GpuNode } from './gpuNode.ts';

const operatorNamespace = contractConfig.namespace;
const example = new URL('../../../examples/a100x4.yaml', import.meta.url);
/** Memory of a board for the small programs of the example. */
const boards: ReadonlyMap<string, string> = new Map([
  ['hrm', '1200Mi'],
  ['embedder', '2200Mi'],
  ['tpc', '1300Mi'],
]);
const board = (slot: string, budget: string): Spec => ({ slot, memory: { budget } });

type Spec = Readonly<Record<string, unknown>>;

/** Engines that need weights are played by one that needs none: no kubelet runs either. */
function playable(expert: Spec): Spec {
  const { engine, artifact: _artifact, speculative: _draft, residency: _residency, warmup: _warmup, ...rest } = expert;
  return { ...rest, engine: (engine as { type: string }).type === 'VLLM' ? { type: 'Synth' } : engine };
}

/** State of a bound pod: ready. */
const isReady = (): object => ({ phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] });

export class PlacementStage {
  readonly gpus: GpuNode;
  /** The kubelet's status of a bound pod. */
  startsAs: (pod: Pod) => object = isReady;
  readonly transport: Transport;
  /** Writes of the operator, apart from Events. */
  readonly writes: string[] = [];
  #stop: (() => Promise<void>) | undefined;

  private constructor(gpus: GpuNode, transport: Transport) {
    this.gpus = gpus;
    this.transport = transport;
  }

  static async start(gpus: GpuNode): Promise<PlacementStage> {
    const self = new PlacementStage(gpus, await administrator());
    await gpus.server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: operatorNamespace } } });
    await self.forget();
    await self.startOperator();
    return self;
  }

  client<T extends KubeObject>(resource: Resource<T>): ResourceClient<T> {
    return new ResourceClient<T>(this.transport, resource);
  }

  async startOperator(): Promise<void> {
    const real = await operatorTransport(this.gpus.server, operatorNamespace);
    const transport = counted(real, this.writes, (path) => !path.includes('/events'));
    // Each process watches its own class of devices.
    const gpus = { driver, deviceClass: this.gpus.deviceClass, migDeviceClass: this.gpus.migDeviceClass };
    this.#stop = runOperator(transport, { ...contractConfig, gpus }, 'placement');
  }

  async stopOperator(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  async close(): Promise<void> {
    await this.stopOperator();
    await this.forget();
    await this.transport.close();
  }

  /** Names of slots are for ever; those of a node that only lived for a test are not. */
  async forget(): Promise<void> {
    await this.gpus.server.ask('DELETE', `/api/v1/namespaces/${operatorNamespace}/configmaps/agentfleet-slots`);
  }

  /**
   * The fleet of examples/a100x4.yaml on the node of this test, without workers, as if verifier, planner, embedder and policy used the
   * boards that the example leaves free; `rollout` is how its experts change.
   */
  async createFleet(rollout: Spec): Promise<void> {
    const text = (await readFile(example, 'utf8')).replaceAll('dgx-1/', `${this.gpus.node}/`);
    for (const { kind, metadata, spec } of loadAll(text) as { kind: string; metadata: { name: string }; spec: Spec }[]) {
      if (kind === 'EnergyModel') await this.createModel(metadata.name, { ...spec, resources: board(`${this.gpus.node}/gpu2`, '5Gi') });
      else
        await this.createPool(
          metadata.name,
          (spec['experts'] as readonly Spec[]).map((one) => playable(this.#onBoard(one))),
          await ruled(this.transport, metadata.name, { ...spec, rollout }, this.gpus.namespace),
        );
    }
  }

  #onBoard(expert: Spec): Spec {
    const budget = boards.get(String(expert['name']));
    return budget === undefined ? expert : { ...expert, resources: board(`${this.gpus.node}/gpu3`, budget) };
  }

  async createPool(name: string, experts: readonly Spec[], spec: Spec = {}): Promise<void> {
    const body = { metadata: { name, namespace: this.gpus.namespace }, spec: { ...spec, experts, workers: { replicas: 0 } } };
    await this.client(resources.expertPools).create(body as unknown as ExpertPool);
  }

  /** Changes one expert of a pool. */
  async changeExpert(name: string, expert: string, change: Spec): Promise<void> {
    const { spec } = await this.pool(name);
    const experts = spec.experts.map((known) => (known.name === expert ? { ...known, ...change } : known));
    await this.client(resources.expertPools).patch({ namespace: this.gpus.namespace, name }, { spec: { experts } });
  }

  async createModel(name: string, spec: Spec): Promise<void> {
    await this.client(resources.energyModels).create({
      metadata: { name, namespace: this.gpus.namespace },
      spec,
    } as unknown as EnergyModel);
  }

  pool(name: string): Promise<ExpertPool> {
    return this.client(resources.expertPools).get({ namespace: this.gpus.namespace, name });
  }

  model(name: string): Promise<EnergyModel> {
    return this.client(resources.energyModels).get({ namespace: this.gpus.namespace, name });
  }

  deployments(): Promise<readonly Deployment[]> {
    return this.client<Deployment>(resources.deployments).list({ namespace: this.gpus.namespace });
  }

  pods(): Promise<readonly Pod[]> {
    return this.client<Pod>(resources.pods).list({ namespace: this.gpus.namespace });
  }

  book(): Promise<ConfigMap> {
    return this.client<ConfigMap>(resources.configMaps).get({ namespace: operatorNamespace, name: 'agentfleet-slots' });
  }

  async annotateBook(annotations: Readonly<Record<string, string>>): Promise<void> {
    await this.client(resources.configMaps).patch(
      { namespace: operatorNamespace, name: 'agentfleet-slots' },
      { metadata: { annotations } },
    );
  }

  /** Writes the administrator's entries beside the names of slots. */
  async writeBook(data: Readonly<Record<string, string>>): Promise<void> {
    await this.client(resources.configMaps).patch({ namespace: operatorNamespace, name: 'agentfleet-slots' }, { data });
  }

  /** Waits while it plays the kubelet: bound pods become ready, one in each round. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    await until(what, async () => {
      await this.gpus.beat();
      await this.#serve();
      return holds();
    });
  }

  async #serve(): Promise<void> {
    const pods = this.client<Pod>(resources.pods);
    const own = await pods.list({ namespace: operatorNamespace });
    const all = [...(await this.pods()), ...own.filter(({ spec }) => spec?.nodeName === this.gpus.node)];
    for (const pod of all.filter(({ spec, status }) => spec?.nodeName !== undefined && status?.phase === 'Pending'))
      await pods.patch(pod.metadata, { status: this.startsAs(pod) }, { subresource: 'status' }).catch(() => undefined); // it may be gone
    for (const { metadata } of all.filter((pod) => pod.metadata.deletionTimestamp !== undefined))
      await pods.delete(metadata, { gracePeriodSeconds: 0 }).catch(() => undefined);
  }
}
