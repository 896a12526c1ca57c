import { asError, canonical, sleep, type Clock, type Log, type Transport } from '@agentfleet/kube';

const refreshMs = 300_000;

/** The API server answers with the media type of RFC 7517, and refuses who does not accept it. */
const accept = 'application/jwk-set+json, application/json;q=0.9';

/** What keepers verify tokens with: issuer and signing keys of the cluster's ServiceAccount tokens (OpenID discovery). */
export class ClusterTokens {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #issuer: string | undefined;
  #jwks: string | undefined;

  constructor(options: { readonly transport: Transport; readonly clock: Clock; readonly log: Log }) {
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Throws before the first `refresh`. */
  issuer(): string {
    if (this.#issuer === undefined) throw new Error('the issuer of tokens has not been read yet; call refresh first');
    return this.#issuer;
  }

  /** JSON with sorted keys, so that equal keys give equal text. Throws before the first `refresh`. */
  jwks(): string {
    if (this.#jwks === undefined) throw new Error('the signing keys of tokens have not been read yet; call refresh first');
    return this.#jwks;
  }

  /** Calls `listener` after every change. The function returned ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads both from the API server. Rejects when it does not answer or the answer is not discovery; what was known stays. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const discovery = await this.#get<{ readonly issuer?: unknown }>('/.well-known/openid-configuration', signal);
    const keys = await this.#get<{ readonly keys?: unknown }>('/openid/v1/jwks', signal);
    if (typeof discovery.issuer !== 'string' || !Array.isArray(keys.keys) || keys.keys.length === 0) {
      throw new Error(
        `the API server ${this.#transport.host} publishes no token issuer with keys; enable ServiceAccount issuer discovery (--service-account-issuer)`,
      );
    }
    const jwks = canonical(keys);
    const changed = this.#issuer !== undefined && (this.#issuer !== discovery.issuer || this.#jwks !== jwks);
    this.#issuer = discovery.issuer;
    this.#jwks = jwks;
    if (!changed) return;
    this.#log.info('the token signing keys changed', { issuer: discovery.issuer, keys: keys.keys.length });
    for (const listener of this.#listeners) listener();
  }

  /** Refreshes every five minutes until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (await sleep(this.#clock, refreshMs, signal)) {
      try {
        await this.refresh(signal);
      } catch (error) {
        if (!signal.aborted) this.#log.warn('the token signing keys were not refreshed', { error: asError(error).message });
      }
    }
  }

  #get<T>(path: string, signal: AbortSignal | undefined): Promise<T> {
    return this.#transport.request<T>({ method: 'GET', path, accept, signal });
  }
}
