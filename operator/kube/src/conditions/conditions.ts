import { timestamp } from '../runtime/clock.ts';
import type { KubeObject } from '../api/resource.ts';

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

const longestMessage = 1024;

/** Cuts to the length that a condition may have, or to another one. */
export function cut(text: string, most: number = longestMessage): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** The value of one type of condition; undefined: it is absent. */
export type ConditionEntry = readonly [type: string, value: Pick<Condition, 'status' | 'reason' | 'message'> | undefined];

/** The conditions of an object's status, with the transition times of those that stay as they are. Pure. */
export function conditionsFor(object: WithConditions, entries: readonly ConditionEntry[], now: number): Condition[] {
  const observedGeneration = object.metadata.generation ?? 0;
  const desired = entries.flatMap(([type, value]): readonly NewCondition[] =>
    value === undefined ? [] : [{ type, status: value.status, reason: value.reason, message: cut(value.message), observedGeneration }],
  );
  return [...mergeConditions(object.status?.conditions, desired, now)];
}

/** An object with conditions in its status. */
export interface WithConditions extends KubeObject {
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] } | undefined;
}
