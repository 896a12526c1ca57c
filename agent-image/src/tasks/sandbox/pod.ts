import { Informer, type Clock, type Log, type Random, type Transport } from '@agentfleet/kube';
import { resources, type Pod } from '../../resources.ts';

/** A sandbox pod that answers. */
export interface LivePod {
  readonly uid: string;
  readonly ip: string;
}

export interface SandboxPodOptions {
  readonly transport: Transport;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Follows the sandbox pod of one task: until it is ready, and then whether it is still there. */
export class SandboxPod {
  readonly name: string;
  readonly #informer: Informer<Pod>;
  readonly #lost = new AbortController();
  readonly #waiters = new Set<() => void>();
  #live: LivePod | undefined;

  constructor({ name, ...options }: SandboxPodOptions) {
    this.name = name;
    this.#informer = new Informer({ ...options, resource: resources.pods, fieldSelector: `metadata.name=${name}` });
    this.#informer.addHandler({
      onAdd: (pod) => this.#see(pod),
      onUpdate: (_, pod) => this.#see(pod),
      onDelete: (pod) => this.#gone(pod.metadata.uid ?? '', 'it was deleted'),
    });
  }

  /** Aborted when the pod that was ready once is deleted, ends, or is another one. A container that restarts is no loss. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Follows the pod until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  /** Resolves when the pod is ready and has an address. Rejects with the signal's reason. */
  async ready(signal: AbortSignal): Promise<LivePod> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#live !== undefined) return this.#live;
      await new Promise<void>((resolve) => {
        this.#waiters.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  #see(pod: Pod): void {
    const { uid = '', deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      this.#gone(uid, 'it is being deleted');
      return;
    }
    const { phase, podIP, reason = '', conditions = [] } = pod.status ?? {};
    if (phase === 'Failed' || phase === 'Succeeded') {
      this.#gone(uid, `its phase is ${phase} ${reason}`.trim());
      return;
    }
    if (this.#live !== undefined) {
      if (this.#live.uid !== uid) this.#gone(this.#live.uid, 'another pod has its name');
      return;
    }
    const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (!ready || podIP === undefined || podIP === '') return;
    this.#live = { uid, ip: podIP };
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  #gone(uid: string, why: string): void {
    if (this.#live?.uid === uid) this.#lost.abort(new Error(`sandbox pod ${this.name} is lost: ${why}`));
  }
}
