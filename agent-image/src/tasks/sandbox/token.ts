import type { Clock, ResourceClient } from '@agentfleet/kube';
import type { OwnPod } from '../../config.ts';

export interface TokenSourceOptions {
  readonly client: Pick<ResourceClient, 'createSubresource'>;
  readonly pod: OwnPod;
  readonly serviceAccount: string;
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

/**
 * Tokens for sandboxes: in the name of the worker's own account, bound to its own pod, good for one sandbox pod only
 * (its uid is the audience). Kept until 80 % of their life.
 */
export class TokenSource {
  readonly #options: TokenSourceOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  /** A token for the sandbox pod with this uid. One that cannot be renewed is used as long as it lives. */
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
    const { client, pod, serviceAccount, clock } = this.#options;
    const began = clock.monotonic();
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid };
    const { status } = await client.createSubresource<TokenAnswer>(
      { namespace: pod.namespace, name: serviceAccount },
      'token',
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [audience], expirationSeconds: lifeSeconds, boundObjectRef },
      },
      { timeoutMs: callMs },
    );
    const given = Date.parse(status.expirationTimestamp) - clock.now();
    const life = Number.isFinite(given) ? Math.min(given, lifeSeconds * 1000) : 0;
    onLife(began + Math.max(0, renewShare * life));
    return status.token;
  }
}
