import { isConflict, isNotFound, type ResourceClient } from '@agentfleet/kube';
import type { FakeApiServer } from '@agentfleet/kube/testing';
import { labels } from '@agentfleet/protocol/pool';
import { type Pod, resources } from '../../../runtime/resources.ts';

const names = ['keeper', 'tools'] as const;

/** Plays scheduler and kubelet: starts sandbox pods, and ends those that are being deleted. */
export class Kubelet {
  readonly #server: FakeApiServer;
  readonly #pods: ResourceClient<Pod>;
  /** Set to leave pods as they are. */
  frozen = false;
  /** Returns the status that a new sandbox comes to; default: it becomes ready. */
  startsAs: (pod: Pod) => object = () => runningStatus(true);

  constructor(server: FakeApiServer, pods: ResourceClient<Pod>) {
    this.#server = server;
    this.#pods = pods;
  }

  async act(): Promise<void> {
    if (this.frozen) return;
    for (const pod of this.#server.objects(resources.pods)) {
      if (pod.metadata.labels?.[labels.component] !== 'sandbox') continue;
      try {
        await this.#actOn(pod);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error; // another writer was faster; the next step looks again
      }
    }
  }

  async #actOn(pod: Pod): Promise<void> {
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined) {
      const running = status?.containerStatuses?.some(({ state }) => state?.running !== undefined) === true;
      if (running) await this.#pods.patch(metadata, { status: terminatedStatus() }, { subresource: 'status' });
      // Containers have ended: the kubelet lets go of its grace period.
      else await this.#pods.delete(metadata, { gracePeriodSeconds: 0 });
      return;
    }
    if (spec?.nodeName === undefined) await this.#pods.patch(metadata, { spec: { nodeName: 'n1' } });
    if (status?.phase === undefined) await this.#pods.patch(metadata, { status: this.startsAs(pod) }, { subresource: 'status' });
  }
}

export function runningStatus(ready: boolean): object {
  return {
    phase: 'Running',
    podIP: '10.0.0.7',
    conditions: [{ type: 'PodScheduled', status: 'True' }],
    containerStatuses: names.map((name) => ({ name, ready, restartCount: 0, state: { running: {} } })),
  };
}

function terminatedStatus(): object {
  return { containerStatuses: names.map((name) => ({ name, ready: false, restartCount: 0, state: { terminated: { exitCode: 0 } } })) };
}

/** A pod that waits for its image. */
export function waitingStatus(reason: string, message: string): object {
  const waiting = { name: 'tools', ready: false, restartCount: 0, state: { waiting: { reason, message } } };
  return { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }], containerStatuses: [waiting] };
}

/** A pod that the kubelet prepares since a time, ms. */
export function preparingStatus(since: number): object {
  const creating = { ready: false, restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } };
  return {
    phase: 'Pending',
    startTime: new Date(since).toISOString(),
    conditions: [{ type: 'PodScheduled', status: 'True' }],
    containerStatuses: names.map((name) => ({ name, ...creating })),
  };
}
