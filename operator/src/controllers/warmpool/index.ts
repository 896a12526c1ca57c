/**
 * Sandboxes that wait ready: made here, taken by the controller of tasks. Imports what a sandbox looks like from there;
 * the controller of pools imports the counts.
 */
export { createWarmPoolController } from './controller.ts';
