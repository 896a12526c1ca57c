import { asError, sleep, type Clock, type Log, type Transport } from '@agentfleet/kube';

/** An address of the API server. */
export interface ApiEndpoint {
  readonly address: string;
  readonly port: number;
}

interface Slices {
  readonly items?: readonly {
    readonly endpoints?: readonly { readonly addresses?: readonly string[] }[];
    readonly ports?: readonly { readonly port?: number }[];
  }[];
}

/** A replaced control plane is followed this fast, ms; its old and new addresses usually overlap for longer. */
const refreshMs = 30_000;

const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dkubernetes';

/** Where pods reach the API server behind its Service: networks see these addresses, and some see the Service's own. */
export class ApiEndpoints {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #service: readonly ApiEndpoint[];
  readonly #listeners = new Set<() => void>();
  #known: readonly ApiEndpoint[] = [];

  /** `service` is the address of the Service, where it is known. */
  constructor(options: { readonly transport: Transport; readonly clock: Clock; readonly log: Log; readonly service?: ApiEndpoint }) {
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#service = options.service === undefined ? [] : [options.service];
  }

  /** Sorted; empty while nothing is known, as where the operator may not list them. */
  list(): readonly ApiEndpoint[] {
    return this.#known.length === 0 ? [] : [...this.#service, ...this.#known];
  }

  /** Calls `listener` after every change. The function returned ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads them until the signal is aborted. Never rejects; what was known stays when the API server does not answer. */
  async run(signal: AbortSignal): Promise<void> {
    do {
      try {
        this.#take(await this.#transport.request<Slices>({ method: 'GET', path, signal }));
      } catch (error) {
        if (!signal.aborted) this.#log.warn('the addresses of the API server were not read', { error: asError(error).message });
      }
    } while (await sleep(this.#clock, refreshMs, signal));
  }

  #take({ items = [] }: Slices): void {
    const found = endpointsOf(items);
    if (found.length === 0 || JSON.stringify(found) === JSON.stringify(this.#known)) return;
    this.#known = found;
    for (const listener of this.#listeners) listener();
  }
}

function endpointsOf(items: NonNullable<Slices['items']>): readonly ApiEndpoint[] {
  const all = items.flatMap(({ endpoints = [], ports = [] }) =>
    endpoints.flatMap(({ addresses = [] }) =>
      addresses.flatMap((address) => ports.flatMap(({ port }) => (port === undefined ? [] : [{ address, port }]))),
    ),
  );
  const key = ({ address, port }: ApiEndpoint): string => `${address} ${port}`;
  return [...new Map(all.map((one) => [key(one), one])).values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
