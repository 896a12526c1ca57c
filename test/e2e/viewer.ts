import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '@agentfleet/cli';
import { systemClock } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { resultsPath } from '@agentfleet/protocol/results';
import { dump, load } from 'js-yaml';
import { inject } from 'vitest';
import { Kubectl } from '../../hack/sandbox/index.ts';
import type { Fleet } from './fleet.ts';

interface Config {
  readonly 'current-context': string;
  readonly clusters: readonly { readonly name: string }[];
  readonly contexts: readonly { readonly name: string; readonly context: { readonly cluster: string } }[];
}

/** A task as read by a user who may read tasks and has no key. */
export interface Seen {
  /** By `kubectl get --raw`. */
  readonly raw: string;
  /** By `fleet artifacts`, verified by its hash. */
  readonly patch: string;
  /** By `fleet logs`. */
  readonly log: string;
  readonly errors: string;
}

interface FleetRun {
  readonly home: string;
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Runs `fleet` without a terminal. */
async function runFleet(args: readonly string[], { home, ...own }: FleetRun): Promise<void> {
  await run(args, { env: { HOME: home }, clock: systemClock, random: Math.random, terminal: false, ...own });
}

/** Follows a task by `fleet logs --follow`; its output so far. */
export interface Followed {
  readonly text: () => string;
  /** Resolves when it ends by itself, as it does with the task. */
  readonly ended: Promise<void>;
}

/** Begins to follow the log of a task, for ten minutes at most. */
export function followLog({ namespace }: Fleet, name: string): Followed {
  const { kubeconfig, context } = inject('fleet');
  let text = '';
  const add = (more: string): void => void (text += more);
  const words = ['logs', name, '--follow', '--namespace', namespace, '--kubeconfig', kubeconfig, '--context', context];
  const ended = runFleet(words, { home: tmpdir(), signal: AbortSignal.timeout(600_000), out: add, err: add });
  return { text: () => text, ended };
}

/** Reads the patch and the log of a task as a viewer of its namespace. */
export async function readAsViewer(fleet: Fleet, { metadata: { name } }: AgentTask): Promise<Seen> {
  const { namespace } = fleet;
  const folder = await mkdtemp(join(tmpdir(), 'viewer-'));
  try {
    await fleet.run('create', 'serviceaccount', 'viewer');
    await fleet.run('create', 'rolebinding', 'viewer', '--clusterrole=agentfleet-viewer', `--serviceaccount=${namespace}:viewer`);
    const token = (await fleet.run('create', 'token', 'viewer')).trim();
    const { kubeconfig, context } = inject('fleet');
    const given = load(await readFile(kubeconfig, 'utf8')) as Config;
    const cluster = given.contexts.find((one) => one.name === context)?.context.cluster;
    const own = {
      ...given,
      users: [{ name: 'viewer', user: { token } }],
      contexts: [{ name: context, context: { cluster, user: 'viewer', namespace } }],
      'current-context': context,
    };
    const config = join(folder, 'kubeconfig');
    await writeFile(config, dump(own));
    const errors: string[] = [];
    const ask = async (...args: readonly string[]): Promise<string> => {
      let out = '';
      const say = { out: (text: string) => void (out += text), err: (text: string) => void errors.push(text) };
      await runFleet([...args, '--kubeconfig', config], { home: folder, signal: AbortSignal.timeout(60_000), ...say });
      return out;
    };
    const to = join(folder, 'change.patch');
    const path = resultsPath({ namespace, name }, 'artifacts', 'change.patch');
    const raw = await new Kubectl({ ...fleet.kubectl.access, kubeconfig: config }).text(['get', '--raw', path]);
    await ask('artifacts', name, 'change.patch', '--to', to);
    const log = await ask('logs', name);
    return { raw, patch: await readFile(to, 'utf8').catch(() => ''), log, errors: errors.join('') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
