import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from '@agentfleet/dashboard';
import { silentLog } from '@agentfleet/kube';
import { type ConnectionFlags, configOf } from '../base/connection.ts';
import { CliError } from '../base/failure.ts';
import type { LocalContext } from './command.ts';

interface DashboardFlags extends ConnectionFlags {
  /** Port of the loopback; 0: a free one. */
  readonly port: number;
  readonly readOnly?: boolean;
}

/** Returns the folder of the built page: beside the program that was bundled, or in a checkout. */
function pageFolder(): string {
  const places = [join(import.meta.dirname, 'dashboard'), join(import.meta.dirname, '../../../dashboard/dist')];
  const found = places.find((place) => existsSync(join(place, 'index.html')));
  if (found === undefined) throw new CliError('the page is not built; in a checkout run "npm run build -w @agentfleet/dashboard"');
  return found;
}

/** Serves the dashboard on the loopback with the caller's own credentials, to whom has the address that is printed, until it is stopped. */
export async function dashboard({ env, signal, print }: LocalContext, flags: DashboardFlags): Promise<void> {
  const { port, readOnly = false, namespace } = flags;
  const cluster = await configOf(flags, env);
  const namespaces = namespace === undefined ? [] : [namespace];
  const key = randomBytes(24).toString('base64url');
  const app = await createServer(
    { cluster, mode: 'Kubeconfig', key, readOnly, namespaces, trustProxy: false, page: pageFolder(), version: '0.1.0' },
    { log: silentLog },
  );
  const stopped = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  const address = await app.listen({ host: '127.0.0.1', port }).catch((error: unknown) => {
    throw new CliError(
      `port ${port} cannot be used (${error instanceof Error ? error.message : String(error)}); give another one by --port`,
    );
  });
  // Behind the # it is sent to no server, and stands in no log.
  print(`${address}/#key=${key}`);
  if (!signal.aborted) await stopped.promise;
  await app.close();
}
