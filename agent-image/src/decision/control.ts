import { controlBounds, type ControlResponse, type ControlStep } from '@agentfleet/protocol/inference';
import type { Control } from '../attempt/ports.ts';
import { proposers } from '../attempt/notes.ts';
import type { Fleet } from './fleet.ts';
import { uniform } from './none.ts';

/** Time for one answer of a planner, policy or embedder, ms. */
export const partMillis = 2000;

/** A control vector, and its meaning for gate 2. */
export interface Steering {
  readonly control: Control;
  /** Null: the pool has no planner. Risk null: it is in shadow. */
  readonly voice: { readonly risk: number | null } | { readonly silent: string } | null;
}

/** Asks the planner; uniform without one, without an answer, and for one that runs in shadow, which is reported. */
export async function askControl(fleet: Fleet, steps: readonly ControlStep[]): Promise<Steering> {
  const experts = proposers(fleet.options.pool);
  const neutral = uniform(experts);
  const planner = fleet.member('Planner');
  if (planner === undefined || experts.length === 0) return { control: neutral, voice: null };
  const request = { requestId: fleet.requestId, experts: [...experts], steps: steps.slice(-controlBounds.maxSteps) };
  const manner = { timeoutMillis: partMillis, without: 'priors are uniform' };
  const answer = await fleet.ask(planner, 'Control', request, manner);
  if (typeof answer === 'string') return { control: neutral, voice: { silent: answer } };
  if (answer.shadow === null) return { control: controlOf(answer), voice: { risk: answer.risk } };
  fleet.tell(planner, `in shadow, priors are uniform: ${answer.shadow}`);
  return { control: neutral, voice: { risk: null } };
}

function controlOf({ experts, risk, deliberate }: ControlResponse): Control {
  return { experts: Object.fromEntries(experts.map(({ name, p }) => [name, p])), risk, deliberate };
}
