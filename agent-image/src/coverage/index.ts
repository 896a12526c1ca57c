/**
 * Which lines each test executes: the check's own command is run once more under a tracer that environment variables
 * alone switch on. The tracer itself is Python (`python/`), which goes into the sandbox as text.
 *
 * May import `protocol` and the keeper's client.
 */
export { collectCoverage, type CoverageOptions } from './collect.ts';
export { runsPython } from './command.ts';
export { tracerProgram } from './program.ts';
