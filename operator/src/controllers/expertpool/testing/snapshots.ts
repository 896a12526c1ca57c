import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { Deployment, Pod } from '../../../runtime/resources.ts';
import type { PoolSnapshot } from '../snapshot.ts';
import { testAccess } from '../../../serving/testing/access.ts';

/** A snapshot of a pool in which nothing has been made yet. */
export function newSnapshot(pool: ExpertPool, parts: Partial<PoolSnapshot> = {}): PoolSnapshot {
  return {
    pool: { ...pool, metadata: { ...pool.metadata, uid: 'uid-pool', generation: 3 } },
    images: { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' },
    egress: { registries: [], environment: {} },
    operatorNamespace: 'agentfleet-system',
    access: testAccess,
    reach: { apiServer: [], more: [] },
    energyModel: undefined,
    namespaces: [],
    counts: { running: 0, queued: 0 },
    replays: new Map(),
    children: [],
    deployments: new Map(),
    claim: undefined,
    pods: [],
    madeAhead: [],
    alive: new Set(),
    notes: new Map(),
    infos: new Map(),
    ...parts,
  };
}

/** A Deployment whose controller has seen its newest template. */
export function deployment(name: string, replicas: number, status: Deployment['status'] = {}): readonly [string, Deployment] {
  const whole = { observedGeneration: 1, replicas, updatedReplicas: replicas, readyReplicas: replicas, ...status };
  return [name, { metadata: { name, namespace: 'platform', generation: 1 }, status: whole }];
}

/** A pod of a worker that answers. */
export function worker(name: string, status: Pod['status'] = { conditions: [{ type: 'Ready', status: 'True' }] }, image = 'agent:1'): Pod {
  const own = { [labels.component]: 'worker', [labels.pool]: 'coding' };
  return {
    metadata: { name, namespace: 'platform', labels: own },
    spec: { serviceAccountName: 'coding-worker', containers: [{ name: 'worker', image }] },
    status,
  };
}
