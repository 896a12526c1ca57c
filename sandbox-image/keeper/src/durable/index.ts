/**
 * Exports the keeper's state to a durable store, and adopts it into a keeper without a history. May import `auth`,
 * `egress`, `link`, `log`, `network`, `base`, `client`, `snapshot` and protocol.
 */
export { Adoptions, exportParts, recoverAdoption } from './adoptions.ts';
