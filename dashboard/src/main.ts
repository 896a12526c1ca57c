// The process of the dashboard in a cluster. All of its configuration comes from the environment, which the chart sets.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ClusterConfig } from '@agentfleet/kube';
import { createServer } from './index.ts';

const env = process.env;

/** The API server by the address that every pod knows, and its authority; no token: users bring theirs. */
function clusterOf(): ClusterConfig {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const server =
    env['DASHBOARD_API_SERVER'] ?? `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? '443'}`;
  const file = env['DASHBOARD_API_CA'] ?? '/etc/agentfleet/ca/ca.crt';
  return { server, credentials: async () => ({ tls: { ca: await readFile(file, 'utf8') } }) };
}

const say = (level: string) => (message: string, fields?: object) => {
  console.log(JSON.stringify({ level, message, ...fields }));
};
const log = { debug: () => undefined, info: say('info'), warn: say('warn'), error: say('error') };

const mode = env['DASHBOARD_AUTH'] ?? 'Token';
if (mode !== 'Token' && mode !== 'Proxy') throw new Error(`DASHBOARD_AUTH is ${mode}; set it to Token or Proxy`);
const app = await createServer(
  {
    cluster: clusterOf(),
    mode,
    readOnly: env['DASHBOARD_READ_ONLY'] === 'true',
    namespaces: (env['DASHBOARD_NAMESPACES'] ?? '').split(',').filter((name) => name !== ''),
    trustProxy: env['DASHBOARD_TRUST_PROXY'] === 'true',
    page: env['DASHBOARD_PAGE'] ?? fileURLToPath(new URL('./dashboard', import.meta.url)),
    version: env['AGENTFLEET_VERSION'] ?? '0.0.0',
  },
  { log },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close().then(() => process.exit(0)));
const address = await app.listen({ host: env['DASHBOARD_HOST'] ?? '::', port: Number(env['DASHBOARD_PORT'] ?? 8080) });
log.info('listens', { address, mode });
