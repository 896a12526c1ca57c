/** What leaves the keeper for a durable store, and what comes back from one into a keeper that knows nothing. */
export { Adoptions } from './adoptions.ts';
export { exportParts } from './export.ts';
export { recoverAdoption } from './staging.ts';
