import type { PoolBrief } from '@agentfleet/protocol/pool';
import { HostList, type AddressRules, type EgressReach } from '../egress/index.ts';
import type { AttemptContext } from './ports.ts';

/** What one command may reach through the egress proxy. */
export interface Reach extends EgressReach {
  /** What tells package managers where to go. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Where package managers keep what they fetched: outside of what snapshots hold. The platform may say otherwise. */
const caches: Readonly<Record<string, string>> = { npm_config_cache: '/tmp/.npm', PIP_CACHE_DIR: '/tmp/.pip', UV_CACHE_DIR: '/tmp/.uv' };

/** Which addresses the pool opens to imports and to hosts that tasks name. */
export function poolRules({ allowedHosts = [], egress }: Pick<PoolBrief, 'allowedHosts' | 'egress'>): AddressRules {
  return rulesOf(allowedHosts, egress);
}

function rulesOf(open: AddressRules['open'], { clusterRanges }: PoolBrief['egress']): AddressRules {
  return { open, ...(clusterRanges === undefined ? {} : { clusterRanges }) };
}

/** What the task and its pool let a command reach; null: nothing. The platform's list of registries is its consent to their addresses. */
export function reachOf({ task, pool }: Pick<AttemptContext, 'task' | 'pool'>, mode: 'None' | Reach['mode']): Reach | null {
  if (mode === 'None') return null;
  if (mode === 'Registries') {
    const { registries, environment } = pool.egress;
    return { mode, hosts: registries, rules: rulesOf(registries, pool.egress), environment: { ...caches, ...environment } };
  }
  // The operator refuses a task that asks for more; the list may have become shorter since.
  const allowed = pool.allowedHosts === undefined ? undefined : new HostList(pool.allowedHosts);
  const hosts = (task.spec.policy.network.hosts ?? []).filter((host) => allowed?.has(host) !== false);
  return { mode, hosts, rules: poolRules(pool), environment: caches };
}
