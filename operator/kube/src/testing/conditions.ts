/** Conditions as tools of others read them. */
import { findCondition, isTrue, type WithConditions } from '../conditions/conditions.ts';

/** State of an object as generic tools derive it. */
export type Kstatus = 'Current' | 'InProgress' | 'Failed' | 'Terminating';

/** The rules for custom resources, in their order (fluxcd/cli-utils pkg/kstatus/status/generic.go). */
export function kstatus(object: WithConditions): Kstatus {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && metadata.generation !== undefined && status.observedGeneration !== metadata.generation)
    return 'InProgress';
  if (isTrue(status?.conditions, 'Reconciling')) return 'InProgress';
  if (isTrue(status?.conditions, 'Stalled')) return 'Failed';
  const ready = findCondition(status?.conditions, 'Ready');
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
}

/** Condition types that say something is wrong or under way when True. */
const negative = ['Reconciling', 'Stalled'] as const;

/**
 * Returns the rules of Flux' contract (fluxcd/pkg runtime/conditions/check/fail.go) that an object's conditions break; empty when none. For
 * tests: to be asserted after every reconcile.
 */
export function conditionFaults(object: WithConditions): readonly string[] {
  const conditions = object.status?.conditions;
  const ready = findCondition(conditions, 'Ready');
  const reconciling = isTrue(conditions, 'Reconciling');
  const stalled = isTrue(conditions, 'Stalled');
  const generation = object.metadata.generation ?? 0;
  const checks: readonly (readonly [boolean, string])[] = [
    [ready === undefined, 'Ready is missing'],
    [reconciling && ready?.status === 'True', 'Reconciling and Ready are both True'],
    [stalled && ready?.status === 'True', 'Stalled and Ready are both True'],
    [reconciling && stalled, 'Reconciling and Stalled are both True'],
    [
      negative.some((type) => findCondition(conditions, type) !== undefined && !isTrue(conditions, type)),
      'Reconciling and Stalled may be present only when True',
    ],
    [
      (conditions ?? []).some((condition) => (condition.observedGeneration ?? 0) > generation),
      'a condition observed a generation of the future',
    ],
    [(object.status?.observedGeneration ?? 0) > generation, 'observedGeneration is ahead of generation'],
  ];
  return checks.filter(([broken]) => broken).map(([, fault]) => fault);
}
