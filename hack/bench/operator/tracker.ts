import {
  asError,
  watch,
  systemClock,
  type KubeObject,
  type Resource,
  type Transport,
  type WatchEnd,
  type WatchEvent,
} from '@agentfleet/kube';
import { hasCondition } from '../../cluster/base/api.ts';
import { resources } from '@agentfleet/operator/resources';

/** Of one watch in a row. */
const mostFailures = 30;

/** Times at which changes of one object were seen, monotonic ms of this process. */
export interface Timeline {
  created: number;
  podCreated?: number;
  podReady?: number;
  ready?: number;
}

function owner({ metadata: { ownerReferences = [] } }: KubeObject): string | undefined {
  return ownerReferences.find(({ controller }) => controller === true)?.name;
}

interface TrackerOptions {
  readonly transport: Transport;
  readonly namespace: string;
  readonly resource: Resource;
  readonly isReady: (object: KubeObject) => boolean;
}

/** Sees objects and their pods come and become ready, by one watch for each kind: the clock of a client. */
export class Tracker {
  readonly timelines = new Map<string, Timeline>();
  /** Uids of all pods that an object ever had. */
  readonly pods = new Map<string, Set<string>>();
  readonly livePods = new Set<string>();
  readonly liveObjects = new Set<string>();
  readonly #options: TrackerOptions;
  readonly #abort = new AbortController();
  readonly #ended: Promise<unknown>;
  readonly #opened: Promise<unknown>;
  #failure: Error | undefined;
  #ready = 0;

  constructor(options: TrackerOptions) {
    this.#options = options;
    const opened = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    this.#opened = Promise.all(opened.map(({ promise }) => promise));
    const objects = this.#follow(options.resource, (event) => this.#object(event), opened[0].resolve);
    const pods = this.#follow(resources.pods, (event) => this.#pod(event), opened[1].resolve);
    this.#ended = Promise.all([objects, pods]).catch((error: unknown) => (this.#failure = asError(error)));
  }

  /** Resolves when both watches run. */
  async opened(): Promise<void> {
    await this.#opened;
  }

  get ready(): number {
    return this.#ready;
  }

  /** To be called right before an object is created. */
  creating(name: string): void {
    this.timelines.set(name, { created: performance.now() });
  }

  /** Forgets what it measured, and goes on. */
  reset(): void {
    this.timelines.clear();
    this.#ready = 0;
  }

  /** Waits until something holds; false when it does not within `timeoutMs`. */
  async until(holds: () => boolean, timeoutMs: number): Promise<boolean> {
    const end = performance.now() + timeoutMs;
    while (!holds()) {
      if (this.#failure !== undefined) throw this.#failure;
      if (performance.now() > end) return false;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return true;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
  }

  async #follow(resource: Resource, onEvent: (event: WatchEvent<KubeObject>) => void, opened: () => void): Promise<void> {
    const { transport, namespace } = this.#options;
    const common = { transport, namespace, resource, clock: systemClock, signal: this.#abort.signal };
    const times = { timeoutSeconds: 3600, stallMs: 600_000 };
    const options = { ...common, ...times, sendInitialEvents: true };
    // A server closes watches when a definition changes; all that is there is reported again.
    let end: WatchEnd = 'closed';
    for (let failures = 0; end !== 'stopped' && failures < mostFailures;) {
      try {
        end = await watch(options, (event) => {
          failures = 0;
          if (event.type === 'BOOKMARK') opened();
          else onEvent(event);
        });
      } catch (error) {
        failures += 1;
        // Such as a server whose own cache is behind.
        if (failures === mostFailures) throw error;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }
  }

  #object({ type, object }: WatchEvent<KubeObject>): void {
    const { name } = object.metadata;
    if (type === 'DELETED') this.liveObjects.delete(name);
    else this.liveObjects.add(name);
    const timeline = this.timelines.get(name);
    if (timeline === undefined || timeline.ready !== undefined || !this.#options.isReady(object)) return;
    timeline.ready = performance.now();
    this.#ready += 1;
  }

  #pod({ type, object }: WatchEvent<KubeObject>): void {
    const name = owner(object);
    const { uid = '' } = object.metadata;
    if (type === 'DELETED') this.livePods.delete(uid);
    // Workers belong to a ReplicaSet.
    const timeline = name === undefined ? undefined : this.timelines.get(name);
    if (name === undefined || timeline === undefined || type === 'DELETED') return;
    this.livePods.add(uid);
    const known = this.pods.get(name) ?? new Set();
    this.pods.set(name, known.add(uid));
    timeline.podCreated ??= performance.now();
    if (hasCondition(object, 'Ready')) timeline.podReady ??= performance.now();
  }
}
