import { type PoolArm, serverHash } from '../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { gatewayCredentials } from '../../pools/resolve.ts';
import { gatewayName } from '../../pools/names.ts';
import { shortHash } from '../../revisions/index.ts';
import { type Pod, resources } from '../../runtime/resources.ts';
import { isReady } from '../../serving/index.ts';
import { chatExperts } from './manifests/chat.ts';
import { gatewayDeployment, gatewayParts, type Gateway } from './manifests/gateway.ts';
import type { Manifest } from '../../operands/manifest.ts';
import { identity } from './ownership.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** Tells gateways of several revisions apart: two with the same chat models have one. Undefined: there is none. Pure. */
export function gatewayHash(arm: Pick<PoolArm, 'experts' | 'images'>): string | undefined {
  const models = chatExperts(arm.experts);
  return models.length === 0 ? undefined : shortHash(Object.fromEntries(models.map((one) => [one.name, serverHash(arm, one)])), 8);
}

/** The gateway that tasks without a revision are sent to; undefined: the only one. Pure. */
export function gatewayRevision({ pool, rollout }: Pick<PoolSnapshot, 'pool' | 'rollout'>): string | undefined {
  if (rollout?.status === undefined || isPlain(rollout.plain, pool.spec.experts)) return undefined;
  return gatewayHash(rollout.serving);
}

/** Whether the gateway is still one from before there were revisions. */
const isPlain = (plain: ReadonlySet<string>, experts: readonly Expert[]): boolean =>
  chatExperts(experts).some(({ name }) => plain.has(name));

/** Addresses of the pods of one server that answer. */
function addresses(pods: readonly Pod[], expert: string, revision: string | undefined): readonly string[] {
  const own = pods.filter(({ metadata }) => metadata.labels?.[labels.expert] === expert && metadata.labels[labels.revision] === revision);
  return own.flatMap((pod) => (isReady(pod) && pod.status?.podIP ? [pod.status.podIP] : [])).sort();
}

function gatewayOf({ pool, replays, pods }: PoolSnapshot, arm: Pick<PoolArm, 'experts' | 'images'>, revision: string | undefined): Gateway {
  const recordings = new Map([...replays].flatMap(([name, { hash }]) => (hash === undefined ? [] : [[name, hash] as const])));
  const revisionOf = (expert: Expert): string | undefined => (revision === undefined ? undefined : serverHash(arm, expert));
  const addressesOf = (expert: Expert): readonly string[] => addresses(pods, expert.name, revisionOf(expert));
  return { pool, models: chatExperts(arm.experts), revisionOf, addressesOf, revision, image: arm.images.inference, recordings };
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
