/**
 * The way out of a sandbox: a proxy in the worker, at the end of tunnels that the keeper hands local connections to
 * (`POST /v1/egress`). Knows the hosts of one command, judges each request, dials, counts. May import the keeper's client.
 */
export { HostList } from './hosts.ts';
export { createDialer, type Dialer, type DialerOptions } from './dial.ts';
export { createEgress, type Egress, type EgressRequest, type OpenEgress } from './session.ts';
