import type { GenerateRequest } from '@agentfleet/protocol/inference';
import { sha256 } from './edit.ts';
import type { Pool } from './pool.ts';
import { Wire } from './wire.ts';

/** A pool and the wire form of its entries. */
export interface KeptPool {
  readonly pool: Pool;
  readonly wire: Wire;
}

/** Pools that are kept; each may hold some megabytes. */
const kept = 16;

/**
 * Pools of the requests seen last. A caller asks again and again for the next k of the same program
 * state, and requests of one batch often share it: the search runs once.
 */
export class PoolCache {
  readonly #pools = new Map<string, KeptPool>();

  async get(request: GenerateRequest, make: () => Promise<Pool>): Promise<KeptPool> {
    const key = poolKey(request);
    const known = this.#pools.get(key);
    this.#pools.delete(key);
    const found = known ?? { pool: await make(), wire: new Wire(request) };
    // What a deadline cut short would be another pool the next time.
    if (found.pool.cut !== 'Deadline') this.#pools.set(key, found);
    const oldest = this.#pools.size > kept ? this.#pools.keys().next() : undefined;
    if (oldest?.done === false) this.#pools.delete(oldest.value);
    return found;
  }
}

/** All that a pool depends on. */
function poolKey({ files, localisation, maxEdits, seed }: GenerateRequest): string {
  return sha256(JSON.stringify([files, localisation, maxEdits, seed]));
}
