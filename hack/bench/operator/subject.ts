import type { KubeObject, Resource, Transport } from '@agentfleet/kube';
import type { Measured } from './process.ts';

/** Asks again and again until the answer is yes; rejects when it is not within `timeoutMs`. */
export async function poll(what: string, holds: () => Promise<boolean>, timeoutMs: number, intervalMs = 100): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs / 1000} s in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
}

/** Place in which a subject runs: a control plane, and two namespaces of this run alone. */
export interface Place {
  readonly transport: Transport;
  readonly kubeconfig: string;
  /** Namespace of the objects. */
  readonly namespace: string;
  /** Namespace of the controller: its lease is there. */
  readonly system: string;
  /** Folder for logs. */
  readonly logs: string;
}

/** Requirements of a run on a subject. */
export interface Wishes {
  /** Objects that will be there at once. */
  readonly objects: number;
  /** Sandboxes that wait for claims; 0: none. */
  readonly warm: number;
  /** Processes; the first leads. */
  readonly replicas: number;
}

/** A subject that runs. */
export interface Running {
  readonly processes: readonly Measured[];
  /** Worst event-loop lag that one of a hundred turns had since the last call, ms; undefined where there is no such loop. */
  loopLagMs(): Promise<number | undefined>;
  stop(): Promise<void>;
}

/** A controller that is measured: ours or the peer. */
export interface Subject {
  readonly name: string;
  /** Prefix of its user agent. */
  readonly agent: string;
  /** Resource that is created for one sandbox that begins at once. */
  readonly resource: Resource;
  manifest(name: string, namespace: string): Pick<KubeObject, 'metadata'>;
  isReady(object: KubeObject): boolean;
  start(place: Place, wishes: Wishes): Promise<Running>;
  /** The same subject with sandboxes that wait. */
  warm(): Subject;
}
