import { type PoolArm, imageOf, serverHash } from '../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName, gatewayName } from '../../pools/names.ts';
import type { Images } from '../../runtime/context.ts';
import { identity, resources, type Pod } from '../../runtime/resources.ts';
import { hasNoPods, chatExperts } from './manifests/chat.ts';
import type { ArmInput, BriefInput } from './manifests/brief.ts';
import { gatewayReplicas, type Gateway } from './manifests/gateway.ts';
import { poolLabels, recordOf, type Manifest } from '../../operands/manifest.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { labels } from '@agentfleet/protocol/pool';
import { gatewayCredentials } from '../../pools/resolve.ts';
import { shortHash } from '../../revisions/index.ts';
import { isReady } from '../../serving/index.ts';

/** Pods that serve one expert; `revision` where there may be others of the same name. */
export interface Server {
  readonly expert: Expert;
  /** All experts of its revision. */
  readonly experts: readonly Expert[];
  readonly images: Images;
  readonly revision?: string | undefined;
}

/** All servers of a pool but its gateways. An expert that is the same in two revisions has one. Pure. */
export function serversOf({ pool, images, rollout }: PoolSnapshot): readonly Server[] {
  const isPlain = rollout?.status === undefined;
  const arms = isPlain ? [{ experts: pool.spec.experts, images }] : rollout.arms;
  const all = arms.flatMap(({ experts, images }) =>
    experts
      .filter((expert) => !hasNoPods(expert))
      .map((expert): Server => ({ expert, experts, images, revision: isPlain ? undefined : serverHash({ experts, images }, expert) })),
  );
  return [...new Map(all.map((server) => [`${server.expert.name} ${server.revision ?? ''}`, server])).values()];
}

/** A Deployment, and the pods that it has to have. */
interface ServingDeployment {
  readonly name: string;
  readonly replicas: number;
}

/** Deployments that serve the experts of a revision; `plain`: those of a pool without revisions. Pure. */
export function deploymentsOf(pool: ExpertPool, arm: Pick<PoolArm, 'experts' | 'images'>, plain = false): readonly ServingDeployment[] {
  const { name: owner } = pool.metadata;
  const own = arm.experts.filter((expert) => !hasNoPods(expert));
  const gateway = gatewayHash(arm);
  return [
    ...own.map((expert) => {
      const name = expertName(owner, expert.name, plain ? undefined : serverHash(arm, expert));
      return { name, replicas: expert.replicas };
    }),
    ...(gateway === undefined ? [] : [{ name: gatewayName(owner, plain ? undefined : gateway), replicas: gatewayReplicas(pool) }]),
  ];
}

/** Name of the server of an expert that tasks without a revision are sent to; undefined: the only one. Pure. */
export function serverRevision({ rollout }: PoolSnapshot, expert: Expert): string | undefined {
  if (rollout?.status === undefined || rollout.plain.has(expert.name)) return undefined;
  return serverHash(rollout.serving, expert);
}

/** Name of the Deployment and the Service of that server. Pure. */
export function serverName(snapshot: PoolSnapshot, expert: Expert): string {
  return expertName(snapshot.pool.metadata.name, expert.name, serverRevision(snapshot, expert));
}

/** Returns the facts about one revision that a brief lists. Pure. */
export function armInput(arm: PoolArm): ArmInput {
  const { revision, experts, images } = arm;
  const imaged = experts.filter((expert) => imageOf(expert, images) !== undefined);
  return { revision, experts, imaged, revisionOf: (expert) => serverHash(arm, expert), gateway: gatewayHash(arm) };
}

/** Returns the facts about the revisions of a pool that the brief lists. Pure. */
export function armsOf(snapshot: PoolSnapshot): Pick<BriefInput, 'revisionOf' | 'gateway' | 'withheld' | 'arms' | 'rollout' | 'policies'> {
  const { rollout, policy: own, judgePolicy: judge } = snapshot;
  const common = { policies: { own, judge }, withheld: heldByGateways(snapshot), gateway: gatewayRevision(snapshot) };
  if (rollout?.status === undefined) return common;
  const revisionOf = (expert: Expert): string | undefined => serverRevision(snapshot, expert);
  return { ...common, revisionOf, arms: rollout.arms.map(armInput), rollout: rollout.status };
}

/** The record of the revision that the spec asks for, when it has none yet. Pure. */
export function recordsToMake({ pool, rollout }: PoolSnapshot): readonly Manifest[] {
  const { record } = rollout ?? {};
  if (record === undefined) return [];
  const { inference, inferenceLlama } = record.images;
  const images = { inference, ...(inferenceLlama === undefined ? {} : { inferenceLlama }) };
  return [recordOf(pool, poolLabels(pool, 'expert'), { ...record, images })];
}

/** Returns the hash by which gateways of revisions differ: two with the same chat models have one. Undefined: there is none. Pure. */
function gatewayHash(arm: Pick<PoolArm, 'experts' | 'images'>): string | undefined {
  const models = chatExperts(arm.experts);
  return models.length === 0 ? undefined : shortHash(Object.fromEntries(models.map((one) => [one.name, serverHash(arm, one)])), 8);
}

/** The gateway that tasks without a revision are sent to; undefined: the only one. Pure. */
export function gatewayRevision({ pool, rollout }: Pick<PoolSnapshot, 'pool' | 'rollout'>): string | undefined {
  if (rollout?.status === undefined) return undefined;
  // The gateway may still be one from before there were revisions.
  return chatExperts(pool.spec.experts).some(({ name }) => rollout.plain.has(name)) ? undefined : gatewayHash(rollout.serving);
}

/** Addresses of the pods of one server that answer. */
function addresses(pods: readonly Pod[], expert: string, revision: string | undefined): readonly string[] {
  const own = pods.filter(({ metadata }) => metadata.labels?.[labels.expert] === expert && metadata.labels[labels.revision] === revision);
  return own.flatMap((pod) => (isReady(pod) && pod.status?.podIP ? [pod.status.podIP] : [])).sort();
}

function gatewayOf(
  { pool, replays, pods, settings = {} }: PoolSnapshot,
  arm: Pick<PoolArm, 'experts' | 'images'>,
  revision: string | undefined,
): Gateway {
  const recordings = new Map([...replays].flatMap(([name, { hash }]) => (hash === undefined ? [] : [[name, hash] as const])));
  const revisionOf = (expert: Expert): string | undefined => (revision === undefined ? undefined : serverHash(arm, expert));
  const addressesOf = (expert: Expert): readonly string[] => addresses(pods, expert.name, revisionOf(expert));
  const models = chatExperts(arm.experts);
  return { pool, models, revisionOf, addressesOf, revision, image: arm.images.inference, recordings, settings };
}

/** All gateways of a pool: one of each revision that has other chat models. Pure. */
export function gatewaysOf(snapshot: PoolSnapshot): readonly Gateway[] {
  const { pool, images, rollout } = snapshot;
  const isPlain = rollout?.status === undefined;
  const arms = isPlain ? [{ experts: pool.spec.experts, images }] : rollout.arms;
  const all = arms.flatMap((arm) => {
    const hash = gatewayHash(arm);
    return hash === undefined ? [] : [[hash, gatewayOf(snapshot, arm, isPlain ? undefined : hash)] as const];
  });
  return [...new Map(all).values()];
}

/** All that a gateway from before there were revisions consists of, as `group/plural/name`. Pure. */
export function partsOfPlainGateway({ metadata }: ExpertPool): readonly string[] {
  const kinds = [
    resources.configMaps,
    resources.networkPolicies,
    resources.services,
    resources.podDisruptionBudgets,
    resources.deployments,
  ];
  return kinds.map((kind) => identity(kind, gatewayName(metadata.name)));
}

/** Credentials that workers do not have: those of chat models of all revisions. Pure. */
export function heldByGateways({ pool, rollout }: Pick<PoolSnapshot, 'pool' | 'rollout'>): ReadonlySet<string> {
  return gatewayCredentials([...pool.spec.experts, ...(rollout?.arms ?? []).flatMap(({ experts }) => experts)]);
}
