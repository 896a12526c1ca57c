import type { AttemptContext } from './ports.ts';

/** What one command may reach through the egress proxy. */
export interface Reach {
  readonly mode: 'Registries' | 'Allowed';
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** What tells package managers where to go. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Where package managers keep what they fetched: outside of what snapshots hold. The platform may say otherwise. */
const caches: Readonly<Record<string, string>> = { npm_config_cache: '/tmp/.npm', PIP_CACHE_DIR: '/tmp/.pip', UV_CACHE_DIR: '/tmp/.uv' };

/** What the task and its pool let a command reach; null: nothing. */
export function reachOf({ task, pool }: Pick<AttemptContext, 'task' | 'pool'>, mode: 'None' | Reach['mode']): Reach | null {
  if (mode === 'None') return null;
  if (mode === 'Registries') return { mode, hosts: pool.egress.registries, environment: { ...caches, ...pool.egress.environment } };
  return { mode, hosts: task.spec.policy.network.hosts ?? [], environment: caches };
}
