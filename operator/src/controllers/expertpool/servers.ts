import { type PoolArm, imageOf, serverHash } from '../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName, gatewayName, revisionRecordName } from '../../pools/names.ts';
import type { Images } from '../../runtime/context.ts';
import { identity, resources, type Pod } from '../../runtime/resources.ts';
import { hasNoPods, chatExperts } from './manifests/chat.ts';
import type { ArmInput, BriefInput } from './manifests/brief.ts';
import { gatewayReplicas, gatewayDeployment, gatewayParts, type Gateway } from './manifests/gateway.ts';
import { owned, type Manifest } from '../../operands/manifest.ts';
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
export function serversOf(snapshot: PoolSnapshot): readonly Server[] {
  return allServers(snapshot).filter(({ expert }) => !hasNoPods(expert));
}

function allServers({ pool, images, rollout }: PoolSnapshot): readonly Server[] {
  if (rollout?.status === undefined) {
    const { experts } = pool.spec;
    return experts.map((expert) => ({ expert, experts, images }));
  }
  const all = rollout.arms.flatMap((arm) =>
    arm.experts.map((expert): Server => ({ expert, experts: arm.experts, images: arm.images, revision: serverHash(arm, expert) })),
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
export function recordOf({ pool, rollout }: PoolSnapshot): readonly Manifest[] {
  const { record } = rollout ?? {};
  if (record === undefined) return [];
  const { revision, experts, images, number } = record;
  const { inference, inferenceLlama } = images;
  const data = { revision, experts, images: { inference, ...(inferenceLlama === undefined ? {} : { inferenceLlama }) } };
  const name = revisionRecordName(pool.metadata.name, 'pool', revision);
  return [owned(pool, resources.controllerRevisions, { name, component: 'expert' }, { revision: number, data })];
}

/** Returns the hash by which gateways of revisions differ: two with the same chat models have one. Undefined: there is none. Pure. */
function gatewayHash(arm: Pick<PoolArm, 'experts' | 'images'>): string | undefined {
  const models = chatExperts(arm.experts);
  return models.length === 0 ? undefined : shortHash(Object.fromEntries(models.map((one) => [one.name, serverHash(arm, one)])), 8);
}

/** The gateway that tasks without a revision are sent to; undefined: the only one. Pure. */
export function gatewayRevision({ pool, rollout }: Pick<PoolSnapshot, 'pool' | 'rollout'>): string | undefined {
  if (rollout?.status === undefined || isPlain(rollout.plain, pool.spec.experts)) return undefined;
  return gatewayHash(rollout.serving);
}

/** Reports whether the gateway is still one from before there were revisions. */
const isPlain = (plain: ReadonlySet<string>, experts: readonly Expert[]): boolean =>
  chatExperts(experts).some(({ name }) => plain.has(name));

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
  if (rollout?.status === undefined) {
    const only = { experts: pool.spec.experts, images };
    return gatewayHash(only) === undefined ? [] : [gatewayOf(snapshot, only, undefined)];
  }
  const all = rollout.arms.flatMap((arm) => {
    const revision = gatewayHash(arm);
    return revision === undefined ? [] : [[revision, gatewayOf(snapshot, arm, revision)] as const];
  });
  return [...new Map(all).values()];
}

/** The objects of all gateways, but for their Deployments. Pure. */
export function gatewayManifests(snapshot: PoolSnapshot): readonly Manifest[] {
  return gatewaysOf(snapshot).flatMap((gateway) => gatewayParts(gateway, snapshot));
}

/** One whose recordings are not all there is not made, and not changed when it is there. */
const isWhole = ({ models, recordings }: Gateway): boolean =>
  models.every(({ engine }) => engine.type !== 'Replay' || recordings.has(engine.replay.configMap.name));

/** Their Deployments. Pure. */
export function gatewayDeployments(snapshot: PoolSnapshot): readonly Manifest[] {
  return gatewaysOf(snapshot)
    .filter(isWhole)
    .map((gateway) => gatewayDeployment(gateway, snapshot));
}

/** Deployments that stay although they are not to be made now, as `group/plural/name`. Pure. */
export function keptGateways(snapshot: PoolSnapshot): readonly string[] {
  return gatewaysOf(snapshot).map(({ pool, revision }) => identity(resources.deployments, gatewayName(pool.metadata.name, revision)));
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
