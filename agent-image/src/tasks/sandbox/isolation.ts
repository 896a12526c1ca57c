import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { isolationLevels, type IsolationLevel, type KeeperInfo } from '@agentfleet/protocol/keeper';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../../attempt/failure.ts';

/** The stronger of what the pool and the task demand. */
export function floorOf(pool: Pick<PoolBrief, 'minIsolation'>, task: Pick<AgentTask, 'spec'>): IsolationLevel {
  const own = task.spec.policy.minIsolation ?? 'Container';
  return isolationLevels.indexOf(own) > isolationLevels.indexOf(pool.minIsolation) ? own : pool.minIsolation;
}

/** `status.run.isolation` of what the keeper found; undefined while it is still finding out. */
export function probed({ isolation, network }: Pick<KeeperInfo, 'isolation' | 'network'>): Run['isolation'] | undefined {
  if (isolation === null || network.state === 'Probing') return undefined;
  const { level, landlockABI, userNamespace, runtimeClass } = isolation;
  return { level, network: network.state, landlockABI, userNamespace, ...(runtimeClass === null ? {} : { runtimeClass }) };
}

/**
 * Why nothing may run behind this wall; undefined when all is well. It is a failure of the infrastructure: the same task
 * may run on another node.
 */
export function tooWeak(
  found: NonNullable<Run['isolation']>,
  floor: IsolationLevel,
  allowUnenforcedNetwork: boolean,
): AttemptFailure | undefined {
  if (isolationLevels.indexOf(found.level) < isolationLevels.indexOf(floor)) {
    const mistaken = found.runtimeClass !== undefined && found.level !== 'RuntimeClass';
    const why = mistaken
      ? ` (the kernel inside is not known to be another one than the node's, although the pod has RuntimeClass ${found.runtimeClass})`
      : '';
    const message = `the sandbox has isolation ${found.level}${why} and needs ${floor}; offer nodes that have it, or lower minIsolation of the pool or task`;
    return new AttemptFailure('Infrastructure', 'IsolationTooWeak', message);
  }
  if (found.network === 'Enforced' || allowUnenforcedNetwork) return undefined;
  const message = `the network of the sandbox is ${found.network}; install a network plugin that enforces NetworkPolicy, or set spec.policy.allowUnenforcedNetwork of the pool`;
  return new AttemptFailure('Infrastructure', 'NetworkNotEnforced', message);
}
