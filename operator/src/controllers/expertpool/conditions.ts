import type { ConditionValue } from '../../runtime/resources.ts';
import { reportedRollout, type RolloutReport } from '../../revisions/index.ts';
import { wholeConditions } from '../../operands/conditions.ts';
import { conditionsFor, cut, type Condition, type NewCondition, mergeConditions } from '@agentfleet/kube';
import type { ConditionType, EnergyModel, ExpertPool, Reason } from '@agentfleet/protocol/api';

/** The parts of a pool: those that have to work for the whole to work, and what became of the others. */
export interface Aspects {
  readonly engines: ConditionValue;
  readonly workers: ConditionValue;
  readonly storage: ConditionValue;
  /** Parts that the pool goes on without; undefined when nothing is missing. */
  readonly degraded: ConditionValue | undefined;
  /** Undefined: the pool has no rollout. */
  readonly rollout?: ConditionValue | undefined;
  /** Undefined: nothing is in shadow. */
  readonly shadow?: ConditionValue | undefined;
  /** Undefined: no engine reports its memory. */
  readonly drift?: ConditionValue | undefined;
  /** Undefined: the pool has no weights. */
  readonly artifacts?: ConditionValue | undefined;
  /** Undefined: the pool asks no other namespace for anything. */
  readonly grants?: ConditionValue | undefined;
}

/** The state of the pool as a whole: the first thing that is in the way, obstacles before what is under way. */
export function wholeOf(obstacles: readonly Obstacle[], { engines, workers, storage }: Aspects): ConditionValue {
  const [first] = obstacles;
  if (first !== undefined) {
    const message = obstacles.map(({ expert, message }) => (expert === undefined ? message : `expert ${expert}: ${message}`)).join('; ');
    return { status: 'False', reason: first.reason, message, stalled: true };
  }
  const missing = [storage, engines, workers].filter(({ status }) => status !== 'True');
  const worst = missing.find(({ stalled }) => stalled === true) ?? missing[0];
  // Nothing is what was asked for: it is ready, as a Deployment of no replicas is.
  const message = workers.reason === 'ScaledToZero' ? workers.message : 'experts, workers and storage are ready';
  if (worst === undefined) return { status: 'True', reason: 'Ready', message };
  return { ...worst, status: 'False' };
}

/** Reasons that are faults of the spec itself; what the cluster lacks for it may come, and is no fault of the spec. */
const faults: ReadonlySet<string> = new Set(['NameTaken', 'ImageNotSet', 'EngineArgumentRefused']);

function acceptedCondition(obstacles: readonly Obstacle[]): ConditionValue {
  const fault = obstacles.find(({ reason }) => faults.has(reason));
  if (fault === undefined) return { status: 'True', reason: 'Accepted', message: 'the pool can be carried out' };
  return { status: 'False', reason: fault.reason, message: fault.message };
}

/** All conditions of a pool, with the transition times of those that stay as they are. Pure. */
export function conditionsOf(pool: ExpertPool, obstacles: readonly Obstacle[], aspects: Aspects, now: number): readonly Condition[] {
  const words: readonly (readonly [ConditionType<'ExpertPool'>, ConditionValue | undefined])[] = [
    ['Accepted', acceptedCondition(obstacles)],
    ['NamespacesGranted', aspects.grants],
    ['ArtifactsReady', aspects.artifacts],
    ['EnginesReady', aspects.engines],
    ['WorkersReady', aspects.workers],
    ['StorageReady', aspects.storage],
    ['Degraded', aspects.degraded],
    ['EstimateDrift', aspects.drift],
    ['RolloutHealthy', aspects.rollout],
    ['ShadowHealthy', aspects.shadow],
  ];
  return conditionsFor(pool, [...wholeConditions(wholeOf(obstacles, aspects)), ...words], now);
}

/** The status of an owner whose serving revision is lost: nothing is touched, and the status has the reason. Pure. */
export function lostStatus<T extends ExpertPool | EnergyModel>(owner: T, rollout: RolloutReport, now: number): NonNullable<T['status']> {
  const { reason, message } = rollout;
  const observedGeneration = owner.metadata.generation ?? 0;
  const conditionValue: NewCondition = { type: 'RolloutHealthy', status: 'False', reason, message: cut(message), observedGeneration };
  const kept = (owner.status?.conditions ?? []).filter(({ type }) => type !== conditionValue.type);
  const conditions = [...mergeConditions(owner.status?.conditions, [...kept, conditionValue] as NewCondition[], now)];
  return { ...owner.status, rollout: reportedRollout(rollout), conditions };
}

/** Something that stands in the way until an owner changes something. */
export interface Obstacle {
  readonly reason: Reason;
  readonly message: string;
  /** The expert that it concerns; undefined for the whole pool. */
  readonly expert?: string;
}
