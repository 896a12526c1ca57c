/**
 * Lines that each test executes: the check's command is run once more under a tracer that environment variables switch on. The
 * tracers are Python (`python/`) and Node (`node/`); they are sent to the sandbox as text.
 *
 * May import `base`, `protocol` and the keeper's client.
 */
export { collectCoverage } from './collect.ts';
