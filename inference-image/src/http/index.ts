/**
 * The HTTP face: routes, checks of requests, errors.
 * May import `capabilities`, `engines`, `gateway`, `queue`, `base`, `gpu`, `models` and protocol.
 */
export { createApp } from './app.ts';
