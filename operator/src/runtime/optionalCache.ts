import {
  Informer,
  isApiError,
  sleep,
  type Clock,
  type InformerOptions,
  type KubeObject,
  type ManagedCache,
  type Source,
} from '@agentfleet/kube';

/** Time between two looks at whether the server refuses, ms. */
const lookMs = 100;

/** A cache of a resource that not every cluster serves: without it the cache is empty, and nobody waits for it. */
export class OptionalCache<T extends KubeObject = KubeObject> implements ManagedCache {
  readonly informer: Informer<T>;
  readonly #clock: Clock;

  constructor(options: InformerOptions<T>) {
    this.informer = new Informer(options);
    this.#clock = options.clock;
  }

  get name(): string {
    return this.informer.name;
  }

  /** Whether the cluster serves the resource, as far as is known. */
  get isServed(): boolean {
    return this.informer.hasSynced() && !isMissing(this.informer.refusal);
  }

  /** Not being served is no fault. */
  get refusal(): Error | undefined {
    const { refusal } = this.informer;
    return isMissing(refusal) ? undefined : refusal;
  }

  hasSynced(): boolean {
    return this.informer.hasSynced() || isMissing(this.informer.refusal);
  }

  /** Resolves with the first list, or when the server says that it has no such resource; rejects as an Informer does. */
  async waitForSync(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const over = new AbortController();
    const either = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    const listed = this.informer.waitForSync(timeoutMs, either);
    listed.catch(() => {}); // one of the two is given up
    try {
      await Promise.race([listed, this.#missing(either)]);
    } finally {
      over.abort();
    }
  }

  run(signal: AbortSignal): Promise<void> {
    return this.informer.run(signal);
  }

  /** The source of keys that does not wait for what is not served. */
  source(source: Source): Source {
    return { ...source, hasSynced: () => this.hasSynced(), waitForSync: (timeoutMs, signal) => this.waitForSync(timeoutMs, signal) };
  }

  async #missing(signal: AbortSignal): Promise<void> {
    while (!isMissing(this.informer.refusal)) if (!(await sleep(this.#clock, lookMs, signal))) return new Promise(() => {});
    return undefined;
  }
}

function isMissing(error: Error | undefined): boolean {
  return isApiError(error) && error.code === 404;
}
