import type { KubeObject } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { bindingOf, slotLabel, uuidAnnotation, type SlotBinding, type SlotClaim } from '../../placement/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import type { ConfigMap, Deployment } from '../../runtime/objects.ts';
import { exceeded, rolledOut } from '../../serving/index.ts';
import type { Progress } from './admit.ts';
import type { GpuCaches } from './caches.ts';
import type { PlacementSnapshot } from './decide.ts';
import type { Owner } from './owners.ts';
import type { Assignment } from './problem.ts';
import { readBook, slotsConfigMap } from './slots.ts';

/** NVIDIA's driver and its class of whole GPUs. */
export const defaultDriver = { driver: 'gpu.nvidia.com', deviceClass: 'gpu.nvidia.com' } as const;

/** What is decided upon and may be newer than the caches. */
export interface Ledger {
  readonly pools: readonly ExpertPool[];
  readonly models: readonly EnergyModel[];
  readonly book: ConfigMap | undefined;
}

/** The ledger as the caches show it. */
export function cachedLedger({ caches, config }: OperatorContext): Ledger {
  return {
    pools: [...caches.pools.lister.values()],
    models: [...caches.energyModels.lister.values()],
    book: caches.configMaps.lister.get(`${config.namespace}/${slotsConfigMap}`),
  };
}

/** How far the Deployment of an engine is on the slot of its assignment. Pure. */
export function progressOf(deployment: Deployment, { slot, uuid }: Assignment, replicas: number): Progress {
  const annotations = deployment.spec?.template?.metadata?.annotations;
  if (annotations?.[slotLabel] !== slot || annotations[uuidAnnotation] !== uuid) return 'Absent';
  if (deployment.spec?.replicas === 0) return 'Absent';
  if (rolledOut(deployment, replicas)) return 'Ready';
  return exceeded(deployment) ? 'Stalled' : 'Starting';
}

/** Deployments of an engine: there may be one for each revision. */
function isOf({ kind, name }: Owner, item: string): (deployment: Deployment) => boolean {
  return ({ metadata: { labels: own = {} } }) =>
    kind === 'EnergyModel' ? own[labels.model] === name : own[labels.pool] === name && own[labels.expert] === item;
}

const byHaste = ['Starting', 'Ready', 'Stalled', 'Absent'] as const satisfies readonly Progress[];

/** While one of them starts, the engine does. */
function worst(all: readonly Progress[]): Progress {
  return byHaste.find((progress) => all.includes(progress)) ?? 'Absent';
}

/** Bindings that claims and plans tell of. */
function recordedBindings(claims: readonly KubeObject[], { pools, models }: Ledger): readonly SlotBinding[] {
  const fromClaims = claims.flatMap((claim) => bindingOf(claim as unknown as Pick<SlotClaim, 'metadata'>) ?? []);
  const fromPlans = [...pools, ...models].flatMap(({ status }) =>
    (status?.plan?.assignments ?? []).flatMap(({ slot, uuid }) => (uuid === undefined ? [] : [{ slot, uuid, pciBusID: undefined }])),
  );
  const bySlot = (a: SlotBinding, b: SlotBinding): number => (`${a.slot} ${a.uuid}` < `${b.slot} ${b.uuid}` ? -1 : 1);
  return [...fromClaims.sort(bySlot), ...fromPlans.sort(bySlot)];
}

/** Reads all that decisions about placement are made from. */
export function observePlacement(context: OperatorContext, gpus: GpuCaches, ledger: Ledger): PlacementSnapshot {
  const { caches, config } = context;
  const claims = gpus.claims.informer.lister.list();
  const progress = (owner: Owner, assignment: Assignment): Progress => {
    const replicas = owner.wishes.find(({ item }) => item === assignment.item)?.replicas ?? 0;
    const deployments = caches.deployments.lister.list({ namespace: owner.namespace }).filter(isOf(owner, assignment.item));
    return worst(deployments.map((deployment) => progressOf(deployment, assignment, replicas)));
  };
  return {
    pools: ledger.pools,
    models: ledger.models,
    claims,
    progress,
    cluster: {
      driver: config.gpus ?? defaultDriver,
      resourceApi: gpus.slices.isServed && gpus.claims.isServed,
      slices: gpus.slices.informer.lister.list(),
      deviceClasses: gpus.deviceClasses.informer.lister.list(),
      nodes: caches.nodes.lister.list(),
      runtimeClass: caches.runtimeClasses.lister.list().some(({ metadata }) => metadata.name === 'nvidia'),
      book: readBook(ledger.book),
      recorded: recordedBindings(claims, ledger),
    },
  };
}
