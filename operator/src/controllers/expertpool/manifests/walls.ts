import { holderComponent } from '../../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { labels, workerPort } from '@agentfleet/protocol/pool';
import { expertsName, holdersName, workersName } from '../../../pools/names.ts';
import { heardByGolden } from '../../../revisions/index.ts';
import { resources } from '../../../runtime/resources.ts';
import { closedWall, heardByPrometheus, serverWall, type ServerWall } from '../../../serving/index.ts';
import { vllmPort } from '../../../serving/vllm/index.ts';
import { isBehindGateway, isChat } from './chat.ts';
import { owned, poolLabels, type Manifest } from '../../../operands/manifest.ts';
import { hasGoldenSets } from './tokens.ts';
import { noReach, workersEgress, type WorkerReach } from './workersEgress.ts';

/**
 * Experts hear the workers of their pool and the operator, and speak to nobody; only adapters speak to the engine that
 * loads them, by its name. Pure.
 */
function expertsWall(pool: ExpertPool, operatorNamespace: string, prometheus?: string): Manifest {
  const own = poolLabels(pool, 'expert');
  const workers = serverWall(own, poolLabels(pool, 'worker'), operatorNamespace);
  const asked = hasGoldenSets(pool) ? heardByGolden(workers, { [labels.pool]: pool.metadata.name }) : workers;
  const scraped = heardByPrometheus(asked, prometheus, [vllmPort]);
  const wall = pool.spec.experts.some(isChatEngine) ? heardByGateway(pool, scraped) : scraped;
  const adapters = pool.spec.experts.some(({ engine }) => engine.type === 'Adapter');
  const spec = adapters ? withEngines(wall, own) : wall;
  return owned(pool, resources.networkPolicies, { name: expertsName(pool.metadata.name), component: 'expert' }, { spec });
}

/** An engine that the gateway asks. */
const isChatEngine = (expert: Expert): boolean => isChat(expert) && !isBehindGateway(expert);

function heardByGateway(pool: ExpertPool, wall: ServerWall): ServerWall {
  const from = [{ podSelector: { matchLabels: poolLabels(pool, 'gateway') } }];
  return { ...wall, ingress: [...wall.ingress, { from, ports: [{ protocol: 'TCP', port: vllmPort }] }] };
}

function withEngines(wall: ServerWall, own: Readonly<Record<string, string>>): object {
  const peers = [{ podSelector: { matchLabels: own } }];
  const ports = [{ protocol: 'TCP', port: vllmPort }];
  const dns = {
    to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }],
    ports: [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
    ],
  };
  return { ...wall, ingress: [...wall.ingress, { from: peers, ports }], egress: [{ to: peers, ports }, dns] };
}

/** Workers hear Prometheus alone, as the kubelet needs no rule, and speak to what the pool and its tasks need. Pure. */
function workersWall(pool: ExpertPool, egress: readonly object[], prometheus?: string): Manifest {
  const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': prometheus } } }];
  const spec = {
    podSelector: { matchLabels: poolLabels(pool, 'worker') },
    policyTypes: ['Ingress', 'Egress'],
    // An empty list would be dropped by the API server: nobody is heard.
    ...(prometheus !== undefined && { ingress: [{ from, ports: [{ protocol: 'TCP', port: workerPort }] }] }),
    egress,
  };
  return owned(pool, resources.networkPolicies, { name: workersName(pool.metadata.name), component: 'worker' }, { spec });
}

/** Of the pods that hold GPUs of a device plugin for this pool, and for its neighbours in the namespace. */
function holdersWall(pool: ExpertPool): readonly Manifest[] {
  if (pool.status?.plan?.mode !== 'Reservation') return [];
  const spec = closedWall({ [labels.component]: holderComponent });
  return [owned(pool, resources.networkPolicies, { name: holdersName(pool.metadata.name, 'pool'), component: 'expert' }, { spec })];
}

/** The network policies of a pool; `prometheus` is the namespace of who scrapes, `reach` what workers need. Pure. */
export function poolWalls(
  pool: ExpertPool,
  operatorNamespace: string,
  prometheus?: string,
  reach: WorkerReach = noReach,
): readonly Manifest[] {
  const workers = workersWall(pool, workersEgress(pool, reach), prometheus);
  return [expertsWall(pool, operatorNamespace, prometheus), workers, ...holdersWall(pool)];
}
