import { type PoolArm, imageOf, serverHash } from '../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { expertName, gatewayName, revisionRecordName } from '../../pools/names.ts';
import type { Images } from '../../runtime/context.ts';
import { resources } from '../../runtime/resources.ts';
import { gatewayHash, gatewayRevision, heldByGateways } from './gateways.ts';
import { isBehindGateway } from './manifests/chat.ts';
import type { ArmInput, BriefInput } from './manifests/brief.ts';
import { gatewayReplicas } from './manifests/gateway.ts';
import { owned, type Manifest } from '../../operands/manifest.ts';
import type { PoolSnapshot } from './snapshot.ts';

/** Pods that serve one expert; `revision` where there may be others of the same name. */
export interface Server {
  readonly expert: Expert;
  /** All experts of its revision. */
  readonly experts: readonly Expert[];
  readonly images: Images;
  readonly revision?: string;
}

/** All servers of a pool but its gateways. An expert that is the same in two revisions has one. Pure. */
export function serversOf(snapshot: PoolSnapshot): readonly Server[] {
  return allServers(snapshot).filter(({ expert }) => !isBehindGateway(expert));
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
export interface ServingDeployment {
  readonly name: string;
  readonly replicas: number;
}

/** Deployments that serve the experts of a revision; `plain`: those of a pool without revisions. Pure. */
export function deploymentsOf(pool: ExpertPool, arm: Pick<PoolArm, 'experts' | 'images'>, plain = false): readonly ServingDeployment[] {
  const { name: owner } = pool.metadata;
  const own = arm.experts.filter((expert) => !isBehindGateway(expert));
  const gateway = gatewayHash(arm);
  return [
    ...own.map((expert) => {
      const name = expertName(owner, expert.name, plain ? undefined : serverHash(arm, expert));
      return { name, replicas: expert.replicas };
    }),
    ...(gateway === undefined ? [] : [{ name: gatewayName(owner, plain ? undefined : gateway), replicas: gatewayReplicas(pool) }]),
  ];
}

/** What tells the server of an expert that tasks without a revision are sent to; undefined: the only one. Pure. */
export function serverRevision({ rollout }: PoolSnapshot, expert: Expert): string | undefined {
  if (rollout?.status === undefined || rollout.plain.has(expert.name)) return undefined;
  return serverHash(rollout.serving, expert);
}

/** Name of the Deployment and the Service of that server. Pure. */
export function serverName(snapshot: PoolSnapshot, expert: Expert): string {
  return expertName(snapshot.pool.metadata.name, expert.name, serverRevision(snapshot, expert));
}

/** What a brief tells of one revision. Pure. */
export function armInput(arm: PoolArm): ArmInput {
  const { revision, experts, images } = arm;
  const imaged = experts.filter((expert) => imageOf(expert, images) !== undefined);
  return { revision, experts, imaged, revisionOf: (expert) => serverHash(arm, expert), gateway: gatewayHash(arm) };
}

/** What the brief says of the revisions of a pool. Pure. */
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
