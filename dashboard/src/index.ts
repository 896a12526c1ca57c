/** The dashboard's service, for `fleet dashboard`, its own process and tests. Imports protocol and kube. */
export { createServer, type ServerTools } from './http/server.ts';
export { type AuthMode, bounds, type DashboardConfig } from './base/config.ts';
