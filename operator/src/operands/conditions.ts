import type { Condition } from '@agentfleet/kube';
import type { Reason } from '@agentfleet/protocol/api';
const longestMessage = 1024;

/** Cuts to the length that a condition may have. */
export function cut(text: string, most: number = longestMessage): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** One sentence of state for programs and people. */
export interface ConditionValue {
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
  /** Nothing but a change from outside can help. */
  readonly stalled?: boolean;
}
