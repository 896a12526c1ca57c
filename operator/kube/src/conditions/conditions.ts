import { timestamp } from '../runtime/clock.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** `metav1.Condition`. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly observedGeneration?: number;
  /** RFC 3339 with seconds; changes only when `status` does. */
  readonly lastTransitionTime: string;
  /** CamelCase, an API: callers match on it. */
  readonly reason: string;
  readonly message: string;
}

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** The list with this condition in its place; others stay where they are. `now` is wall time in ms. */
export function setCondition(conditions: readonly Condition[] | undefined, next: NewCondition, now: number): readonly Condition[] {
  const list = conditions ?? [];
  const old = findCondition(list, next.type);
  const lastTransitionTime = old?.status === next.status ? old.lastTransitionTime : timestamp(now);
  const made: Condition = { ...next, lastTransitionTime };
  return old === undefined ? [...list, made] : list.map((condition) => (condition.type === next.type ? made : condition));
}

export function removeCondition(conditions: readonly Condition[] | undefined, type: string): readonly Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

/** Desired conditions with the transition times of those present; what is not desired is left out. */
export function mergeConditions(
  present: readonly Condition[] | undefined,
  desired: readonly NewCondition[],
  now: number,
): readonly Condition[] {
  return desired.map((next) => {
    const old = findCondition(present, next.type);
    return { ...next, lastTransitionTime: old?.status === next.status ? old.lastTransitionTime : timestamp(now) };
  });
}
