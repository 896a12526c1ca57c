import { setTimeout as delay } from 'node:timers/promises';
import type { Kubectl } from '../../sandbox/index.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { namespaces, conditionOf, type Stage } from './stage.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentTask } from '@agentfleet/protocol/api';
import { execa } from 'execa';
import { installCli } from '../../cli.ts';

/** ServiceAccount of a person with a browser. */
export const account = 'visitor';

/** A ServiceAccount of the tasks' namespace that may look, decide and write tasks there, and look at the pools. */
export async function letVisitorIn(kubectl: Kubectl, { tasks, pools }: { readonly tasks: string; readonly pools: string }): Promise<void> {
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace: tasks }];
  const bind = (namespace: string, role: string): object => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: `${account}-${role}`, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects,
  });
  await kubectl.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace: tasks } });
  for (const role of ['agentfleet-viewer', 'agentfleet-editor', 'agentfleet-approver']) await kubectl.apply(bind(tasks, role));
  await kubectl.apply(bind(pools, 'agentfleet-viewer'));
}

/** Prints and returns the address of the dashboard, and proves that it answers and admits no client without a token. */
export async function showDashboard(kubectl: Kubectl, proofs: Proofs): Promise<string> {
  await letVisitorIn(kubectl, namespaces);
  const service = ['-n', namespaces.system, 'get', 'service', 'agentfleet-dashboard', '-o', 'jsonpath={.spec.clusterIP}'];
  const host = (await kubectl.text(service)).trim();
  const address = `http://${host.includes(':') ? `[${host}]` : host}`;
  const ask = (path: string): Promise<number> =>
    fetch(address + path, { signal: AbortSignal.timeout(5000) }).then(
      ({ status }) => status,
      () => 0,
    );
  // Rules of a new Service take a moment on the node.
  let page = await ask('/');
  for (let turn = 0; page === 0 && turn < 10; turn += 1) {
    await delay(500);
    page = await ask('/');
  }
  proofs.prove('the dashboard serves its page, and data to nobody without a token', page === 200 && (await ask('/api/session')) === 401);
  proofs.fact(
    `${address}/?in=${namespaces.tasks},${namespaces.pools}  log in with: kubectl -n ${namespaces.tasks} create token ${account}`,
  );
  return address;
}

/**
 * A person who approves as soon as a task waits: `kubectl fleet approve`, the command that users have. `settled` rejects when the command
 * failed.
 */
export class Approver {
  readonly #stage: Stage;
  readonly #folder: string;
  #given: Promise<void> | undefined;

  private constructor(stage: Stage, folder: string) {
    this.#stage = stage;
    this.#folder = folder;
  }

  static async open(stage: Stage): Promise<Approver> {
    const folder = await mkdtemp(join(tmpdir(), 'agentfleet-cli-'));
    await installCli(folder);
    return new Approver(stage, folder);
  }

  see(task: AgentTask): void {
    if (this.#given !== undefined || conditionOf(task, 'AwaitingApproval')?.status !== 'True') return;
    this.#given = this.#approve(task.metadata.name ?? '');
    this.#given.catch(() => undefined); // reported by `settled`
  }

  /** Resolves when the order, if any was given, has been obeyed. */
  async settled(): Promise<void> {
    await this.#given;
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  async #approve(name: string): Promise<void> {
    const { cluster } = this.#stage.environment;
    const args = ['fleet', '-n', namespaces.tasks, 'approve', name, '--reason', 'it is retired'];
    console.log(`            kubectl ${args.join(' ')}`);
    const { stdout } = await execa(cluster.bin('kubectl'), [...args, '--kubeconfig', cluster.kubeconfig, '--context', cluster.context], {
      env: { PATH: `${this.#folder}:${process.env['PATH'] ?? ''}` },
    });
    for (const line of stdout.split('\n')) console.log(`            ${line}`);
  }
}
