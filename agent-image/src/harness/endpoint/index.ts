/**
 * The model endpoint of an agent program inside the sandbox: requests to the local port of the way out come here, one at a time,
 * are charged to the task and sent to the gateway. May import `loop` (budget, notes, transcript), `attempt`, `models`, `base`.
 */
export { serveModelEndpoint, Turn, type EndpointRefusal, type ModelEndpoint, type ModelEndpointOptions } from './endpoint.ts';
