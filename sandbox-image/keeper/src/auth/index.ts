/**
 * Who may call, and in the name of which assignment. Knows tokens and epochs, nothing of HTTP routes.
 * May import `base`, `client`, `snapshot` and protocol.
 */
export { EpochFence } from './epoch.ts';
export { authenticate, type KeeperTokenRules } from './token.ts';
