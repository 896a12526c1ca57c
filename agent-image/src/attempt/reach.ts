import type { AttemptContext } from './ports.ts';

/** What one command may reach through the egress proxy. */
export interface Reach {
  readonly mode: 'Registries' | 'Allowed';
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** What tells package managers where to go. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What the task and its pool let a command reach; null: nothing. */
export function reachOf({ task, pool }: Pick<AttemptContext, 'task' | 'pool'>, mode: 'None' | Reach['mode']): Reach | null {
  if (mode === 'None') return null;
  if (mode === 'Registries') return { mode, hosts: pool.egress.registries, environment: pool.egress.environment };
  return { mode, hosts: task.spec.policy.network.hosts ?? [], environment: {} };
}
