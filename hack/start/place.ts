/** Names of what a first task needs besides the fleet, on a local cluster. */
export const place = { namespace: 'start', forge: 'forge', model: 'model', modelPort: 8080, user: 'robot', repository: 'cart' } as const;
