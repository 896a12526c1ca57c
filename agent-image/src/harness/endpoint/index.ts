/**
 * The model endpoint of an agent program inside the sandbox: requests to the local egress port arrive here, one at a
 * time, are charged to the task and sent to the gateway. May import `loop` (budget, notes, transcript), `attempt`,
 * `models`, `base`.
 */
export { serveModelEndpoint, type ModelEndpoint, type ModelEndpointOptions } from './endpoint.ts';
export type { Exchange } from './relay.ts';
