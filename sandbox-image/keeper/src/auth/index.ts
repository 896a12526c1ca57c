/** Who may call, and in the name of which assignment. Knows tokens and epochs, nothing of HTTP routes. */
export { EpochFence } from './epoch.ts';
export { authenticate, type KeeperTokenRules } from './token.ts';
