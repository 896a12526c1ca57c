// protocol, keeper: port, upgrade header and bounds of egress tunnels. May import environment alone.

/**
 * Port of 127.0.0.1 in the sandbox pod at which commands find the worker's proxy. The keeper hands each connection, byte for
 * byte, to a tunnel that a worker has parked; where no worker is there it closes the connection at once.
 */
export const egressPort = 3128;

/**
 * Value of the `Upgrade` header of `POST /v1/egress`. The request carries token and epoch like any other; after the answer
 * 101 the connection is parked. Its first byte comes when a connection of the sandbox was joined to it; either side may end
 * its own direction first. A newer epoch ends all tunnels of the older ones.
 */
export const egressUpgrade = 'agentfleet-egress';

/**
 * Tunnels that wait, connections that are joined at once, how long one may send no first byte, and how long a connection
 * waits for the next tunnel while others are joined. After the first byte the worker ends a connection on which nothing moves:
 * it alone knows whether a model is waited for.
 */
export const egressBounds = { maxParked: 32, maxOpen: 128, silentSeconds: 300, waitMillis: 2000 } as const;
