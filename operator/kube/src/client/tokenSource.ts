import type { Clock } from '../runtime/clock.ts';
import type { ResourceClient } from './client.ts';

export interface TokenSourceOptions {
  readonly client: Pick<ResourceClient, 'createSubresource'>;
  readonly account: { readonly namespace: string; readonly name: string };
  /** The pod that tokens end with; absent: they end with the account. */
  readonly pod?: { readonly name: string; readonly uid: string };
  readonly clock: Clock;
}

interface TokenAnswer {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

interface Held {
  readonly token: Promise<string>;
  /** Monotonic ms from which a new one is asked for. */
  renewAt: number;
}

/** Seconds that a token is asked for; the API server may give less. */
const lifeSeconds = 3600;
const renewShare = 0.8;
const callMs = 10_000;

/** Tokens of one ServiceAccount by TokenRequest, one for each audience. Kept until 80 % of their life. */
export class TokenSource {
  readonly #options: TokenSourceOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  /** A token for this audience. One that cannot be renewed is used as long as it lives. */
  async token(audience: string): Promise<string> {
    const held = this.#held.get(audience);
    const now = this.#options.clock.monotonic();
    if (held !== undefined && now < held.renewAt) return held.token;
    const asked: Held = { token: this.#ask(audience, (renewAt) => (asked.renewAt = renewAt)), renewAt: Infinity };
    this.#held.set(audience, asked);
    try {
      return await asked.token;
    } catch (error) {
      if (this.#held.get(audience) === asked) this.#held.delete(audience);
      if (held === undefined) throw error;
      this.#held.set(audience, held);
      return held.token;
    }
  }

  forget(audience: string): void {
    this.#held.delete(audience);
  }

  async #ask(audience: string, onLife: (renewAt: number) => void): Promise<string> {
    const { client, pod, account, clock } = this.#options;
    const began = clock.monotonic();
    const boundObjectRef = pod === undefined ? undefined : { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid };
    const { status } = await client.createSubresource<TokenAnswer>(
      account,
      'token',
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [audience], expirationSeconds: lifeSeconds, ...(boundObjectRef !== undefined && { boundObjectRef }) },
      },
      { timeoutMs: callMs },
    );
    const given = Date.parse(status.expirationTimestamp) - clock.now();
    const life = Number.isFinite(given) ? Math.min(given, lifeSeconds * 1000) : 0;
    onLife(began + Math.max(0, renewShare * life));
    return status.token;
  }
}
