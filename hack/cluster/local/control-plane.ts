import { connect } from 'node:net';
import { execa } from 'execa';
import { apiReader, type ApiReader } from '../base/api.ts';
import { apiServer, controllerManager, etcd, scheduler, type Surroundings } from '../daemons/control-plane.ts';
import type { Daemon } from '../daemons/daemon.ts';
import { assertAlive, ensureDaemon, logPath } from '../daemons/supervisor.ts';
import { waitFor } from '../base/wait.ts';

/** One start in progress: its state, log and deadline, and whether anything had to be started. */
export interface Start {
  readonly around: Surroundings;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal | undefined;
  /** Names of the daemons that this start started or restarted. */
  readonly started: string[];
}

/** Runs kubectl as the administrator of this cluster. @param input becomes standard input, which `-f -` reads */
export async function kubectl({ around: { layout, binaries } }: Pick<Start, 'around'>, args: readonly string[], input = ''): Promise<void> {
  await execa(binaries.path('kubectl'), ['--kubeconfig', layout.kubeconfig, ...args], { input });
}

/** Applies manifests, whoever applied them before. @param more arguments; the manifests are the input unless they name others */
export async function apply(start: Pick<Start, 'around'>, input: string, more: readonly string[] = ['-f', '-']): Promise<void> {
  await kubectl(start, ['apply', '--server-side', '--force-conflicts', ...more], input);
}

/** Starts a daemon unless it runs as described. */
export async function ensure(start: Start, daemon: Daemon): Promise<void> {
  const outcome = await ensureDaemon(start.around.layout, daemon, start.log);
  if (outcome !== 'running') start.started.push(daemon.name);
}

/** Waits for a sign of life from a daemon, and fails at once when the daemon ends meanwhile. */
export async function waitForDaemon(start: Start, name: string, probe: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const { layout } = start.around;
  const alive = async (): Promise<boolean> => {
    const answer = await probe().catch(() => false);
    if (!answer) await assertAlive(layout, name);
    return answer;
  };
  await waitFor(`an answer of ${name}`, alive, { timeoutMs, intervalMs: 25, signal: start.signal, where: logPath(layout, name) });
}

/** Reports whether a port of this host or a Unix socket accepts connections. */
export async function accepts(address: { port: number } | { path: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect('path' in address ? { path: address.path } : { host: '127.0.0.1', port: address.port });
    const finish = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, finish(false)).once('connect', finish(true)).once('error', finish(false));
  });
}

/** Starts etcd and the API server, and resolves when the API server is ready. */
export async function startApi(start: Start): Promise<ApiReader> {
  const { around } = start;
  await ensure(start, etcd(around));
  await waitForDaemon(start, 'etcd', () => accepts({ port: around.ports.etcd }));
  await ensure(start, apiServer(around));
  const api = await apiReader(around.layout, around.ports.apiserver);
  await waitForDaemon(start, 'kube-apiserver', () => api.healthy('/readyz'));
  if (start.started.includes('kube-apiserver')) start.log('API server ready');
  return api;
}

/** Starts the controllers; the API server must be ready. */
export async function startControllers(start: Start): Promise<void> {
  await Promise.all([ensure(start, controllerManager(start.around)), ensure(start, scheduler(start.around))]);
}
