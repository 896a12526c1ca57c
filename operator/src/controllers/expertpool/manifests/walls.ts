import type { ExpertPool } from '@agentfleet/protocol/api';
import { workerPort } from '@agentfleet/protocol/pool';
import { expertsName, workersName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { serverWall } from '../../../serving/index.ts';
import { owned, poolLabels, type Manifest } from './manifest.ts';

/** Experts hear the workers of their pool and the operator, and speak to nobody. Pure. */
function expertsWall(pool: ExpertPool, operatorNamespace: string): Manifest {
  const spec = serverWall(poolLabels(pool, 'expert'), poolLabels(pool, 'worker'), operatorNamespace);
  return owned(pool, resources.networkPolicies, { name: expertsName(pool.metadata.name), component: 'expert' }, { spec });
}

/**
 * Workers are asked for probes and metrics only. They may call out: git, storage and API server are anywhere, and what
 * they run does not run in them. Pure.
 */
function workersWall(pool: ExpertPool): Manifest {
  return owned(
    pool,
    resources.networkPolicies,
    { name: workersName(pool.metadata.name), component: 'worker' },
    {
      spec: {
        podSelector: { matchLabels: poolLabels(pool, 'worker') },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ports: [{ protocol: 'TCP', port: workerPort }] }],
        egress: [{}],
      },
    },
  );
}

/** The network policies of a pool. Pure. */
export function poolWalls(pool: ExpertPool, operatorNamespace: string): readonly Manifest[] {
  return [expertsWall(pool, operatorNamespace), workersWall(pool)];
}
