import { spawn } from 'node:child_process';
import { gateOf } from '@agentfleet/protocol/tokens';
import { listen } from '../listen.ts';
import { errorFields, type Logger } from '../logger.ts';
import { createSupervisorApp } from './app.ts';
import { superviseVariable, type ChildPlan, type SupervisorConfig } from './plan.ts';
import { Supervisor } from './supervisor.ts';

/** The word on the command line. */
export const superviseWord = 'supervise';

/** After the time that servers have for what waits, this long until they are killed, ms. Less than the grace of the pod. */
const exitMs = 6_000;
const patienceMs = 300_000;

export interface SuperviseOptions {
  readonly config: SupervisorConfig;
  /** What a server is started with, beside what is its own. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface Supervision {
  readonly address: string;
  /** Passes the signal on, and resolves when no server is left. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Starts the servers of one pod and tells how they are. */
export async function supervise({ config, env, command, logger, now }: SuperviseOptions): Promise<Supervision> {
  const { host } = config.listen;
  const [program, ...args] = command;
  const supervisor = new Supervisor({
    plans: config.children,
    spawn: (plan) => spawn(program, args, { env: childEnv(env, plan, host), stdio: ['ignore', 'inherit', 'inherit'] }),
    ask: async (plan, signal) => isReady(`http://${loopback(host)}:${plan.port}/readyz`, signal),
    patienceMs,
    deadlineMs: config.drainSeconds * 1000 + exitMs,
    logger,
    now,
  });
  const onError = (error: unknown): void => logger.log('error', 'the key file cannot be read', errorFields(error));
  const app = createSupervisorApp(supervisor, gateOf(config.access, { clock: { now: () => Date.now() }, onError }));
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    await supervisor.stop(signal);
    await app.close();
  };
  try {
    return { address: await listen(app, config.listen), stop };
  } catch (error) {
    await stop('SIGTERM');
    throw error;
  }
}

/** The environment of one server: that of the pod, its own, its port and the GPUs that it may see. Pure. */
export function childEnv(
  base: SuperviseOptions['env'],
  { environment, port, gpus }: ChildPlan,
  host: string,
): Record<string, string | undefined> {
  const { [superviseVariable]: _own, ...rest } = base;
  const address = host.includes(':') ? `[${host}]` : host;
  return { ...rest, ...environment, AGENTFLEET_LISTEN: `${address}:${port}`, CUDA_VISIBLE_DEVICES: gpus.join(',') };
}

/** Where a server that listens on all addresses is asked from beside. */
function loopback(host: string): string {
  if (host === '::' || host === '0.0.0.0') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

async function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2_000)]) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false; // it does not listen yet, or not any more
  }
}
