/** What leaves the keeper for a durable store, and what comes back from one into a keeper that knows nothing. */
export { Adoptions, exportParts, recoverAdoption } from './adoptions.ts';
