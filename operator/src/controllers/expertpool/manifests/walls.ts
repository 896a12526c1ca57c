import type { ExpertPool } from '@agentfleet/protocol/api';
import { expertPort, workerPort } from '@agentfleet/protocol/pool';
import { expertsName, workersName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { owned, poolLabels, type Manifest } from './manifest.ts';

/** Experts hear the workers of their pool and nobody else, and speak to nobody: no rule lets anything out. Pure. */
function expertsWall(pool: ExpertPool): Manifest {
  return owned(
    pool,
    resources.networkPolicies,
    { name: expertsName(pool.metadata.name), component: 'expert' },
    {
      spec: {
        podSelector: { matchLabels: poolLabels(pool, 'expert') },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          {
            from: [{ podSelector: { matchLabels: poolLabels(pool, 'worker') } }],
            ports: [{ protocol: 'TCP', port: expertPort }],
          },
        ],
      },
    },
  );
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
export function poolWalls(pool: ExpertPool): readonly Manifest[] {
  return [expertsWall(pool), workersWall(pool)];
}
