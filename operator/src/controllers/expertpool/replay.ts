import { contentHash, ResourceClient, type Clock, type Transport } from '@agentfleet/kube';
import type { ExpertPool, Reason } from '@agentfleet/protocol/api';
import { type ConfigMap, resources } from '../../runtime/resources.ts';
import { homeOf } from '../../operands/manifest.ts';

/** A recording: the hash of what its pods read, or why they cannot read it. */
export type Replay = { readonly hash: string } | { readonly hash?: undefined; readonly reason: Reason; readonly message: string };

/** How long an answer is believed, ms: a recording that is missing is awaited, one that is there seldom changes. */
export const replayPollMs = { missing: 5_000, present: 30_000 } as const;

interface Read {
  readonly replay: Replay;
  readonly at: number;
}

/** What the pods of an expert would find in this ConfigMap. Pure. */
export function replayOf(name: string, configMap: ConfigMap | undefined): Replay {
  if (configMap === undefined) {
    const message = `there is no ConfigMap ${name} in the namespace of the pool; create it with the recording`;
    return { reason: 'ReplayNotFound', message };
  }
  const files = Object.entries(configMap.data ?? {}).filter(([file]) => file.endsWith('.json'));
  if (files.length === 0) {
    return { reason: 'ReplayEmpty', message: `ConfigMap ${name} has no key that ends in .json; put the recording there` };
  }
  return { hash: contentHash(Object.fromEntries(files)) };
}

/**
 * Reads recordings. They are people's ConfigMaps without a label of ours, so no cache holds them: they are asked for,
 * and the answer is believed for a while.
 */
export class ReplayReader {
  readonly #client: ResourceClient<ConfigMap>;
  readonly #clock: Clock;
  readonly #known = new Map<string, Read>();

  constructor(transport: Transport, clock: Clock) {
    this.#client = new ResourceClient(transport, resources.configMaps);
    this.#clock = clock;
  }

  /** The recordings that a pool names, by the names of their ConfigMaps. */
  async read(pool: ExpertPool, signal: AbortSignal): Promise<ReadonlyMap<string, Replay>> {
    const namespace = homeOf(pool);
    const found = new Map<string, Replay>();
    for (const { engine } of pool.spec.experts) {
      if (engine.type !== 'Replay') continue;
      const { name } = engine.replay.configMap;
      found.set(name, await this.#one(namespace, name, signal));
    }
    return found;
  }

  async #one(namespace: string, name: string, signal: AbortSignal): Promise<Replay> {
    const key = `${namespace}/${name}`;
    const now = this.#clock.monotonic();
    const known = this.#known.get(key);
    const ttl = known?.replay.hash === undefined ? replayPollMs.missing : replayPollMs.present;
    if (known !== undefined && now - known.at < ttl) return known.replay;
    const replay = replayOf(name, await this.#client.find({ namespace, name }, { signal }));
    this.#forgetOld(now);
    this.#known.set(key, { replay, at: now });
    return replay;
  }

  /** Answers that nobody believes any more must not pile up. */
  #forgetOld(now: number): void {
    for (const [key, { at }] of this.#known) if (now - at >= replayPollMs.present) this.#known.delete(key);
  }
}
