import { defineResource, isConflict, ResourceClient, type Clock, type KubeObject, type Log, type Transport } from '@agentfleet/kube';
import { resultsApi } from '@agentfleet/protocol/results';
import { bundleOf, isFresh, issue, type Issued } from './certificate.ts';

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const secrets = defineResource<Secret>('v1', 'Secret', 'secrets');

/** The Secret of the certificate; the chart makes it empty, so that no account here has the right to make Secrets. */
const certificateSecret = 'agentfleet-results-tls';
const keys = { authority: 'ca.crt', certificate: 'tls.crt', key: 'tls.key' } as const;

/** The authority in force and the one before it: replicas change over one after the other. */
const mostAuthorities = 2;

interface ServingOptions {
  readonly transport: Transport;
  readonly namespace: string;
  /** Names that the API server asks for. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The certificate that all replicas share, and the announcement to the API server of the authority to trust. A new one is made
 * in the last third of its life; the API server knows its authority before any replica uses it.
 */
export class ServingCertificate {
  readonly #options: ServingOptions;
  readonly #client: ResourceClient<Secret>;
  #announced: string | undefined;

  constructor(options: ServingOptions) {
    this.#options = options;
    this.#client = new ResourceClient(options.transport, secrets);
  }

  /** The certificate in force, made when there is none that lasts. Rejects when the API server refuses. */
  async refresh(signal: AbortSignal): Promise<Issued> {
    const { names, clock, namespace } = this.#options;
    for (;;) {
      const secret = await this.#client.get({ namespace, name: certificateSecret }, { signal });
      const held = issuedOf(secret);
      if (held !== undefined && isFresh(held, names, clock.now())) {
        await this.#announce(held.authority, signal);
        return held;
      }
      await this.#replace(secret, held, signal);
    }
  }

  async #replace(secret: Secret, before: Issued | undefined, signal: AbortSignal): Promise<void> {
    const { names, clock, log } = this.#options;
    const made = await issue(names, clock.now());
    const authority = [made.authority, ...bundleOf(before?.authority ?? '', mostAuthorities - 1)].join('');
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const data = { [keys.authority]: base64(authority), [keys.certificate]: base64(made.certificate), [keys.key]: base64(made.key) };
    try {
      await this.#client.update({ ...secret, data }, { signal, fieldManager: 'agentfleet-results' });
      log.info('made a new certificate', { names });
    } catch (error) {
      if (!isConflict(error)) throw error; // another replica was faster: its certificate is read
    }
  }

  /** Has the API server trust the authority; when it was taken out again, that is noticed. */
  async #announce(authority: string, signal: AbortSignal): Promise<void> {
    const { transport, log } = this.#options;
    const caBundle = Buffer.from(authority).toString('base64');
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/${resultsApi.version}.${resultsApi.group}`;
    const found = await transport.request<{ readonly spec?: { readonly caBundle?: string } }>({ method: 'GET', path, signal });
    if (found.spec?.caBundle === caBundle) return;
    await transport.request({
      method: 'PATCH',
      path,
      query: { fieldManager: 'agentfleet-results' },
      contentType: 'application/merge-patch+json',
      body: { spec: { caBundle } },
      signal,
    });
    if (this.#announced !== undefined) log.info('the APIService had another authority; it has ours again');
    this.#announced = caBundle;
  }
}

function issuedOf({ data = {} }: Secret): Issued | undefined {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const issued = { authority: text(keys.authority), certificate: text(keys.certificate), key: text(keys.key) };
  return bundleOf(issued.authority, 1).length === 0 ? undefined : issued;
}
