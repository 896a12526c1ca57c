import { callerName, type ClusterConfig, createTransport, type Transport } from '@agentfleet/kube';
import { bounds } from '../base/config.ts';
import { DashboardError, unauthorized } from '../base/failure.ts';
import type { Credential } from './credentials.ts';

export interface User {
  readonly id: string;
  readonly transport: Transport;
  /** User name that the API server reports for the credential. */
  readonly name: string;
}

interface Kept {
  readonly user: Promise<User>;
  readonly transport: Transport;
  usedAt: number;
  holds: number;
}

async function nameOf(transport: Transport): Promise<string> {
  const name = await callerName(transport, { retry: false, timeoutMs: 10_000 });
  if (name === '' || name === 'system:anonymous') throw unauthorized('the API server does not know who this is');
  return name;
}

/** Connections to the API server, one set for each credential; unused ones are closed. */
export class Users {
  readonly #kept = new Map<string, Kept>();
  readonly #connect: (cluster: ClusterConfig) => Transport;
  readonly #now: () => number;

  constructor(
    version: string,
    now: () => number,
    connect = (cluster: ClusterConfig): Transport =>
      createTransport(cluster, { userAgent: `agentfleet-dashboard/${version}`, connections: 4 }),
  ) {
    this.#connect = connect;
    this.#now = now;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** The user of a credential. Rejects with the API server's 401 where it knows no user by it. */
  async of({ id, cluster }: Credential): Promise<User> {
    this.#sweep();
    const found = this.#kept.get(id) ?? this.#open(id, cluster);
    found.usedAt = this.#now();
    try {
      return await found.user;
    } catch (error) {
      // Nothing is remembered of a login that failed.
      if (this.#kept.get(id) === found) this.drop(id);
      throw error;
    }
  }

  /** The same, asked anew: what is kept may be of a token that has expired meanwhile. */
  async known(credential: Credential): Promise<User> {
    const user = await this.of(credential);
    await nameOf(user.transport);
    return user;
  }

  /** Keeps the connections of a user open until the function returned is called. */
  hold(id: string): () => void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return () => undefined;
    kept.holds += 1;
    return () => {
      kept.holds -= 1;
      kept.usedAt = this.#now();
    };
  }

  drop(id: string): void {
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    void kept?.transport.close();
  }

  close(): void {
    for (const id of this.#kept.keys()) this.drop(id);
  }

  #open(id: string, cluster: ClusterConfig): Kept {
    if (this.#kept.size >= bounds.users)
      throw new DashboardError(
        503,
        'AF_DASHBOARD_BUSY',
        `${bounds.users} users are connected`,
        'Try again in a minute, or run more replicas',
      );
    const transport = this.#connect(cluster);
    const user = nameOf(transport).then((name) => ({ id, transport, name }));
    const kept = { user, transport, usedAt: this.#now(), holds: 0 };
    this.#kept.set(id, kept);
    return kept;
  }

  #sweep(): void {
    const since = this.#now() - 5 * 60_000;
    for (const [id, kept] of this.#kept) if (kept.holds === 0 && kept.usedAt < since) this.drop(id);
  }
}
