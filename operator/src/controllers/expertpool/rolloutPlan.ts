import { type RolloutReport, drainSecondsOf, isOpen, poolRevision } from '../../revisions/index.ts';
import { type PoolArm, type RecordedArm, imageOf } from '../../operands/index.ts';
import type { KubeObject } from '@agentfleet/kube';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { expertName, gatewayName, revisionRecordName, rolloutLedgerName } from '../../pools/names.ts';
import { type Deployment, identity, resources } from '../../runtime/resources.ts';
import { rolledOut, wasSeated } from '../../serving/index.ts';
import { deploymentsOf, partsOfPlainGateway } from './servers.ts';
import { isBehindGateway } from './manifests/chat.ts';
import type { PoolSnapshot, RolloutPlan } from './snapshot.ts';

/** Revisions that unfinished tasks work with. */
export interface InUse {
  readonly revision: (revision: string) => boolean;
  /** Reports whether a task is worked on that knows no revision. */
  readonly plain: () => boolean;
}

/** Ms between two looks at a rollout that goes on, and at one that waits. */
export const lookMs = { open: 1_000, waiting: 5_000 } as const;

/** The revision that the spec asks for. Pure. */
export function desiredArm({ pool, images, recorded }: PoolSnapshot): RecordedArm {
  const { experts } = pool.spec;
  const revision = poolRevision(pool.metadata.uid ?? '', experts, (expert) => imageOf(expert, images));
  return { revision, experts, images, number: recordNumber(recorded, revision) };
}

/** Returns the number of the record of a revision; the next one where it has none. Pure. */
export function recordNumber(recorded: ReadonlyMap<string, { readonly number: number }> = new Map(), revision: string): number {
  return recorded.get(revision)?.number ?? 1 + Math.max(0, ...[...recorded.values()].map(({ number }) => number));
}

/** Lists the records of revisions that stay, as `group/plural/name`. */
export const recordKeys = (owner: KubeObject, kind: 'pool' | 'model', revisions: Iterable<string>): readonly string[] =>
  [...new Set(revisions)].map((one) => identity(resources.controllerRevisions, revisionRecordName(owner.metadata.name, kind, one)));

/**
 * Experts that still have pods from before there were revisions. Those on GPUs do not wait for the first revision: there may be
 * no room for both.
 */
function plainExperts({ pool, deployments }: PoolSnapshot): ReadonlySet<string> {
  const { name: owner } = pool.metadata;
  const waits = (found: Deployment | undefined): boolean => found !== undefined && !wasSeated(found.spec?.template);
  const before = (expert: Expert): string => (isBehindGateway(expert) ? gatewayName(owner) : expertName(owner, expert.name));
  return new Set(pool.spec.experts.filter((expert) => waits(deployments.get(before(expert)))).map(({ name }) => name));
}

/** The children of experts that are served by pods from before there were revisions. */
function plainChildren({ metadata: { name: owner } }: ExpertPool, experts: ReadonlySet<string>): readonly string[] {
  const names = [...experts].map((expert) => expertName(owner, expert));
  return names.flatMap((name) => [identity(resources.deployments, name), identity(resources.services, name)]);
}

/** Plans the parts of a pool in a rollout: which revisions have pods, and what is kept. Pure. `now` is wall time in ms. */
export function planOf(snapshot: PoolSnapshot, status: RolloutReport, inUse: InUse, now: number): RolloutPlan | undefined {
  const { pool, recorded } = snapshot;
  const desired = desiredArm(snapshot);
  const arms = new Map<string, PoolArm>([...(recorded ?? []), [desired.revision, desired]]);
  const tried = isOpen(status) ? status.canary : status.stable === undefined ? desired.revision : undefined;
  const serving = arms.get(status.stable ?? desired.revision);
  if (serving === undefined) return undefined;
  const wanted = [serving, ...(tried === undefined ? [] : [arms.get(tried)])].filter((arm) => arm !== undefined);
  const drains = now - Date.parse(status.since) < drainSecondsOf(snapshot.policy) * 1000;
  const hasPods = (arm: PoolArm): boolean => deploymentsOf(pool, arm).some(({ name }) => snapshot.deployments.has(name));
  // They get no new tasks any more, and are still needed, or were until a moment ago.
  const rest = [...(recorded?.values() ?? [])].filter(
    (arm) => !wanted.some(({ revision }) => revision === arm.revision) && (inUse.revision(arm.revision) || (drains && hasPods(arm))),
  );
  const all = [...new Map([...wanted, ...rest].map((arm) => [arm.revision, arm])).values()];
  const held = [
    ...all.map(({ revision }) => revision),
    desired.revision,
    ...(status.lastGreen ?? []),
    ...(status.canary === undefined ? [] : [status.canary]),
  ];
  const plain = plainExperts(snapshot);
  const keepPlain = status.stable === undefined || drains || inUse.plain();
  return {
    status,
    serving,
    plain: status.stable === undefined ? plain : new Set(),
    arms: all,
    record: recorded?.has(desired.revision) === true ? undefined : desired,
    keep: [
      ...recordKeys(pool, 'pool', held),
      identity(resources.configMaps, rolloutLedgerName(pool.metadata.name, 'pool')),
      ...(keepPlain ? [...plainChildren(pool, plain), ...partsOfPlainGateway(pool)] : []),
    ],
    againMs: isOpen(status) ? lookMs.open : status.stable === desired.revision && rest.length === 0 ? Infinity : lookMs.waiting,
  };
}

/**
 * Returns the rest of a rollout whose pool has none any more: its pods stay until those that follow answer, but for those on
 * GPUs, in whose places the others come. Pure.
 */
export function leavingPlan(snapshot: PoolSnapshot, inUse: InUse): RolloutPlan | undefined {
  const { pool, images, children, recorded, deployments } = snapshot;
  if (recorded === undefined || recorded.size === 0) return undefined;
  const ready = deploymentsOf(pool, { experts: pool.spec.experts, images }, true).every(({ name, replicas }) =>
    rolledOut(deployments.get(name), replicas),
  );
  if (ready && ![...recorded.keys()].some((revision) => inUse.revision(revision))) return undefined;
  const stays = ({ metadata }: KubeObject): boolean => !wasSeated(deployments.get(metadata.name)?.spec?.template);
  const left = children.filter(({ object }) => object.metadata.labels?.[labels.revision] !== undefined && stays(object));
  return {
    status: undefined,
    serving: { revision: '', experts: pool.spec.experts, images },
    plain: new Set(),
    arms: [],
    record: undefined,
    keep: [...left.map(({ resource, object }) => identity(resource, object.metadata.name)), ...recordKeys(pool, 'pool', recorded.keys())],
    againMs: lookMs.waiting,
  };
}

/** The pool as its tasks see it: experts and images of the revision that serves. Pure. */
export function withPlan(snapshot: PoolSnapshot, rollout: RolloutPlan | undefined): PoolSnapshot {
  if (rollout === undefined) return snapshot;
  const { experts, images } = rollout.serving;
  const pool = { ...snapshot.pool, spec: { ...snapshot.pool.spec, experts: [...experts] } };
  return { ...snapshot, pool, images: { ...snapshot.images, ...images }, rollout };
}
