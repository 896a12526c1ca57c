/**
 * Parts that all controllers share: caches, their transforms and the census of tasks, the context that controllers get,
 * heartbeats of workers, settings, and answers that are remembered for a while. May import `@agentfleet/kube`, protocol and the
 * pure `placement`. Files are imported by their own names, as each has other users.
 */
export { keepNewest, Remembered } from './remembered.ts';
