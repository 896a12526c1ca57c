import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import { Agent, fetch as undiciFetch, ProxyAgent, type Dispatcher } from 'undici';
import { GatewayError } from './providers/gatewayError.ts';

type Fetch = typeof globalThis.fetch;

/** An answer without an end is cut here. The request has its own limits of time. */
const limits = { headersTimeout: 0, bodyTimeout: 0, maxResponseSize: 64 * 1024 * 1024 } as const;

/** How the provider of a model is reached: with which authorities, through which proxy. Connections are kept between requests. */
export class Transport {
  #kept: { readonly key: string; readonly dispatcher: Dispatcher } | null = null;

  /**
   * A `fetch` that follows no redirect: a key goes to the host that it is for, and nowhere else.
   * @throws GatewayError when the file of the authorities cannot be read
   */
  async fetchOf({ name, caFile, proxy }: GatewayModel): Promise<Fetch> {
    const authority = caFile === undefined ? null : await readFile(caFile, 'utf8').catch(() => null);
    if (caFile !== undefined && authority === null)
      throw new GatewayError(
        'ProviderUnreachable',
        `the authorities of ${name} cannot be read: create the ConfigMap that caBundleRef names`,
      );
    const key = JSON.stringify([authority, proxy ?? null]);
    if (this.#kept?.key !== key) {
      // What is under way on the old connections ends on them.
      void this.#kept?.dispatcher.close();
      this.#kept = { key, dispatcher: dispatcherOf(authority, proxy) };
    }
    const { dispatcher } = this.#kept;
    return ((url: string, init: object) => undiciFetch(url, { ...init, redirect: 'manual', dispatcher })) as unknown as Fetch;
  }

  async close(): Promise<void> {
    await this.#kept?.dispatcher.destroy();
  }
}

function dispatcherOf(authority: string | null, proxy: string | undefined): Dispatcher {
  const tls = authority === null ? {} : { ca: [...rootCertificates, authority] };
  if (proxy === undefined) return new Agent({ ...limits, connect: tls });
  return new ProxyAgent({ uri: proxy, requestTls: tls, proxyTls: tls, ...limits });
}
