/**
 * Authenticates callers and fences stale assignments. Knows tokens and epochs, but no HTTP routes. May import `base`,
 * `client`, `snapshot` and protocol.
 */
export { authenticate, EpochFence } from './auth.ts';
