import type { ClusterView } from '../model/index.ts';
import type { Node, Pod } from '../../../runtime/resources.ts';
import { decidePlacement, type PlacementDecision, type PlacementSnapshot } from '../decide.ts';
import { holderPod, holderView } from '../reserve/holders.ts';
import { probePod } from '../reserve/probe.ts';
import { box, snapshot } from './box.ts';
import { now, written } from './world.ts';

/** Boards as a driver names them. */
export const board = (index: number): string => `GPU-0000000${index}-0000-4000-8000-00000000000${index}`;

/** A node whose four GPUs a device plugin hands out. */
export const pluginNode = (bootID = 'one', gpus = 4, name = 'dgx-1'): Node => ({
  metadata: { name, labels: { 'nvidia.com/gpu.memory': '40960' } },
  status: { allocatable: { 'nvidia.com/gpu': String(gpus) }, nodeInfo: { bootID } },
});

/** A cluster with such a node, its kubelet, and the pods that hold its GPUs. Time passes only when a test advances it. */
export class PluginBox {
  snapshot: PlacementSnapshot;
  now = now;
  /** Free boards, in the order in which the plugin gives them. */
  free = [0, 1, 2, 3].map(board);
  /** GPUs that a pod sees which asks by environment; undefined: it never starts. */
  visible: number | undefined = 4;
  pods: readonly Pod[] = [];
  /** Uids of holders whose engines are still there. */
  inUse = new Set<string>();
  /** Number of probes that were made. */
  probes = 0;
  readonly #boards = new Map<string, string>();
  #made = 0;

  constructor(parts: Partial<PlacementSnapshot> = {}, cluster: Partial<ClusterView> = {}) {
    const view = box([], { slices: [], resourceApi: false, nodes: [pluginNode()], runtimeClass: true, ...cluster });
    this.snapshot = snapshot({ cluster: view, ...parts });
  }

  get holders(): readonly Pod[] {
    return this.pods.filter((pod) => holderView(pod) !== undefined);
  }

  decide(): PlacementDecision {
    const { cluster, pools, models } = this.snapshot;
    const recorded = [...pools, ...models].flatMap(({ status }) =>
      (status?.plan?.assignments ?? []).flatMap(({ slot, uuid }) => (uuid === undefined ? [] : [{ slot, uuid, pciBusID: undefined }])),
    );
    const holders = this.pods.flatMap((pod) => holderView(pod) ?? []);
    const probe = this.pods.find((pod) => holderView(pod) === undefined);
    return decidePlacement({ ...this.snapshot, cluster: { ...cluster, holders, recorded }, inUse: this.inUse, probe }, this.now);
  }

  /** One reconcile, and what the kubelet makes of it. Whether there was anything to do. */
  step(kubelet = true): boolean {
    const decision = this.decide();
    const { bindings, probes, claims, remove, statuses, holders, probe } = decision;
    this.snapshot = written(this.snapshot, decision);
    for (const wanted of holders.make) this.#create(holderPod(wanted, 'inference:1'));
    for (const { pod, ownerReferences } of holders.own) this.#put({ ...pod, metadata: { ...pod.metadata, ownerReferences } });
    if (probe.make !== undefined) {
      this.probes += 1;
      this.#create(
        probePod(probe.make, 'agentfleet-system', 'inference:1', { apiVersion: 'v1', kind: 'ConfigMap', name: 'book', uid: 'b' }),
      );
    }
    for (const pod of [...holders.end, ...(probe.end === undefined ? [] : [probe.end])]) this.lose(pod);
    if (kubelet) this.kubelet();
    const made = holders.make.length + holders.own.length + holders.end.length + claims.length + remove.length + statuses.length;
    return made > 0 || bindings !== undefined || probes !== undefined || probe.make !== undefined || probe.end !== undefined;
  }

  /** Steps until there is nothing to do. */
  rest(): this {
    for (let round = 0; round < 60; round += 1) if (!this.step()) return this;
    throw new Error('never comes to rest');
  }

  /** A pod is gone, and its board is the next one that is given. */
  lose(pod: Pod): void {
    const held = this.#boards.get(pod.metadata.uid ?? '');
    if (held !== undefined) this.free = [held, ...this.free];
    this.#boards.delete(pod.metadata.uid ?? '');
    this.pods = this.pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
  }

  /** Starts what can be started. */
  kubelet(): void {
    for (const pod of this.pods) {
      if (pod.status?.phase !== undefined) continue;
      if (holderView(pod) === undefined) {
        if (this.visible !== undefined) this.tell(pod, 'Succeeded', { gpus: this.visible });
        continue;
      }
      const [next, ...others] = this.free;
      if (next === undefined) continue;
      this.free = others;
      this.#boards.set(pod.metadata.uid ?? '', next);
      this.tell(pod, 'Running', { uuid: next, pciBusID: `0000:0${next.at(-1)}:00.0` });
    }
  }

  /** Writes the phase that a pod comes to, and its answer. */
  tell(pod: Pod, phase: 'Succeeded' | 'Running' | 'Failed', answer: object): void {
    const terminated = { exitCode: 0, message: JSON.stringify(answer) };
    const statuses = [{ name: 'x', ready: true, restartCount: 0, state: { terminated } }];
    this.#put({ ...pod, status: { phase, initContainerStatuses: statuses, containerStatuses: statuses } });
  }

  #create(pod: Pod): void {
    const taken = this.pods.some(({ metadata: { name, namespace } }) => name === pod.metadata.name && namespace === pod.metadata.namespace);
    if (taken) throw new Error(`${pod.metadata.name} is there already`);
    this.#made += 1;
    const creationTimestamp = new Date(this.now).toISOString();
    this.pods = [...this.pods, { ...pod, metadata: { ...pod.metadata, uid: `pod-${this.#made}`, creationTimestamp } }];
  }

  #put(pod: Pod): void {
    this.pods = this.pods.map((known) => (known.metadata.uid === pod.metadata.uid ? pod : known));
  }
}
