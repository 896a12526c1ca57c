/** The dashboard's service, for `fleet dashboard`, its own process and tests. Imports protocol, kube and the keeper's log. */
export { createServer } from './http/server.ts';
export { type DashboardConfig } from './base/config.ts';
