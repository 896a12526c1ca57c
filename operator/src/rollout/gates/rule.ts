import { gateMetrics } from '@agentfleet/protocol/api';
import type { Gate, GateResult } from './gate.ts';
import { speaks } from './phases.ts';

/**
 * Returns the metric and the bound of a gate whose result stands until the next look, or permanently; undefined: it is judged
 * anew each time, as those are that need no look at tasks or copies. A person may edit the policy while a revision is tried, and the result of another rule counts for nothing then.
 */
function ruleOf(gate: Gate): string | undefined {
  if (gate.type === 'TaskLoss') return `TaskLoss at most ${gate.design.goal.margin}`;
  if (gate.type === 'Query' || speaks(gate.type, 'Loading')) return undefined;
  return `${gate.type} ${gateMetrics[gate.type].bound === 'atLeast' ? 'at least' : 'at most'} ${gate.bound}, ${gate.minSamples} samples`;
}

/** The message of a result, which begins with its rule where it stands: the status keeps both in one place. Pure. */
export function withRule(gate: Gate, message: string): string {
  const rule = ruleOf(gate);
  return rule === undefined ? message : `${rule}: ${message}`;
}

/** Reports whether a result that stands comes from this rule, and not from another one under its name. Pure. */
export function isSaidBy(gate: Gate, result: GateResult | undefined): boolean {
  const rule = ruleOf(gate);
  return rule !== undefined && result?.message.startsWith(`${rule}: `) === true;
}
