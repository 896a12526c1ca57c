/**
 * The egress of a sandbox: a proxy in the worker, at the end of tunnels to which the keeper passes local connections
 * (`POST /v1/egress`), and before git on the worker's loopback. Knows the hosts of one command, judges each request and
 * each address, dials, counts. May import the keeper's client.
 */
export { HostList } from './hosts.ts';
export { createDialer, Forbidden, type AddressRules, type Dialer, type DialerOptions, type OpenDialer } from './dial.ts';
export { getPage, originFetch, PageFault, type OriginFetch, type Page } from './page.ts';
export { openLocalProxy, type LocalProxy } from './localProxy.ts';
export { createEgress, ownEnvironment, type EgressReach, type EgressRequest, type OpenEgress, type ServeOwn } from './session.ts';
