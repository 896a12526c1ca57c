// agent-image, egress: hosts and ports that one command may reach. May import base, protocol, kube and the keeper's client.

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A host as it is compared: lower case, without brackets and the final dot. */
export function plainHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

/** Hosts and ports that one command may reach: exact names, no patterns. */
export class HostList {
  readonly #listed: ReadonlySet<string>;

  constructor(hosts: readonly HostPort[]) {
    this.#listed = new Set(hosts.map(({ host, port }) => `${plainHost(host)} ${port}`));
  }

  has({ host, port }: HostPort): boolean {
    return this.#listed.has(`${plainHost(host)} ${port}`);
  }
}
