/**
 * What leaves the keeper for a durable store, and what comes back from one into a keeper that knows nothing.
 * May import `auth`, `egress`, `link`, `log`, `network`, `base`, `client`, `snapshot` and protocol.
 */
export { Adoptions, exportParts, recoverAdoption } from './adoptions.ts';
