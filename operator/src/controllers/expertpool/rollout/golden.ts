import type { PoolArm } from '../../../operands/index.ts';
import type { RolloutStatus } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import type { GoldenQuestion, GoldenView } from '../../../revisions/index.ts';
import { type Job, resources } from '../../../runtime/resources.ts';
import { goldenServiceAccount } from '../../../pools/names.ts';
import { parts, verifier } from '../manifests/brief.ts';
import { homeOf } from '../../../operands/manifest.ts';
import { identity } from '../ownership.ts';
import { armInput } from '../servers.ts';
import type { PoolSnapshot } from '../snapshot.ts';

/** What is asked of the golden sets of a pool, apart from where its book lies and what its rollout says. */
export type PoolSets = Pick<GoldenQuestion, 'kind' | 'labels' | 'serviceAccount' | 'ready' | 'arm' | 'jobs' | 'pods'>;

/** How golden sets find the revisions of a pool. `armOf` finds one by its name, `ready` tells whether its engines answer. Pure. */
export function poolSets(
  snapshot: PoolSnapshot,
  armOf: (revision: string) => PoolArm | undefined,
  ready: (arm: PoolArm) => boolean,
): PoolSets {
  const { pool, energyModel, children, pods } = snapshot;
  const { name } = pool.metadata;
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = armOf(revision);
    if (found === undefined) return undefined;
    // Golden sets ask for proposals, which chat models do not make.
    const experts = parts(pool, armInput(found)).experts.filter(({ chat }) => chat === undefined);
    const judge = energyModel === undefined ? null : verifier(energyModel);
    return { kind: 'ExpertPool', name, namespace: homeOf(pool), revision, rollout, experts, verifier: judge };
  };
  return {
    kind: 'pool',
    labels: { [labels.pool]: name },
    serviceAccount: goldenServiceAccount(name),
    ready: (revision) => {
      const found = armOf(revision);
      return found !== undefined && ready(found);
    },
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: pods.filter(({ metadata }) => metadata.labels?.[labels.component] === 'golden'),
  };
}

/** Children that stay although nobody asks for them: Jobs of the rollout that was looked at. Pure. */
export function keptJobs({ keep }: GoldenView, before: RolloutStatus | undefined, now: RolloutStatus): readonly string[] {
  return before?.id === now.id ? keep.map((name) => identity(resources.jobs, name)) : [];
}
