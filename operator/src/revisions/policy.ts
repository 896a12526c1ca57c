import { canonical, type Lister } from '@agentfleet/kube';
import { keepNewest } from '../runtime/index.ts';
import {
  gateMetrics,
  obeyedWeight,
  type EnergyModel,
  type ExpertPool,
  type Reason,
  type RolloutGate,
  type RolloutPolicy,
  type RolloutPolicySpec,
  unfitGate,
} from '@agentfleet/protocol/api';
import type { RolloutReport } from './report.ts';
import { defaultLooks, designOf, mustPassBefore, type Design, type DesignGoal, type Gate, type RolloutRules } from '../rollout/index.ts';

/** Designs that are kept: as many as there may be pools with a goal of their own at once. */
const mostDesigns = 64;

/** Designs of sequential tests by their goals; one takes a fifth of a second to compute. */
export class Designs {
  readonly #known = new Map<string, Design>();

  of(goal: DesignGoal): Design {
    const key = canonical(goal);
    const design = this.#known.get(key) ?? designOf(goal);
    keepNewest(this.#known, key, design, mostDesigns);
    return design;
  }
}

/** Gates that have to pass before a phase begins. */
function namesOf({ gates = [] }: RolloutPolicySpec, phase: ReturnType<typeof mustPassBefore>): readonly string[] {
  return gates.filter(({ metric }) => mustPassBefore(metric) === phase).map(({ name }) => name);
}

/** Returns the rules by which the machine is to go on, by the spec. Pure. */
export function rulesOf(spec: RolloutPolicySpec): RolloutRules {
  const steps = spec.steps.map((step) => ({ ...step, weight: obeyedWeight(step.weight, spec.gates) }));
  return { ...spec, steps, beforeTraffic: namesOf(spec, 'Shadowing'), inShadow: namesOf(spec, 'Canary') };
}

/** The gates of a spec as they are evaluated. */
export function gatesOf(specs: readonly RolloutGate[] | undefined, designs: Designs): readonly Gate[] {
  return (specs ?? []).map((spec) => gateOf(spec, designs));
}

/** Goal that the sequential test of tasks is designed for, beside the loss that is allowed. */
const taskGoal = { alpha: 0.01, beta: 0.045, baseRate: 0.9, looks: defaultLooks };

function gateOf({ name, metric, atLeast, atMost, minSamples }: RolloutGate, designs: Designs): Gate {
  if (metric === 'Query') {
    const [min, max] = [atLeast, atMost].map((text) => (text === undefined ? undefined : Number(text)));
    return { type: metric, name, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  }
  const shipped = gateMetrics[metric];
  const bound = Number((shipped.bound === 'atLeast' ? atLeast : atMost) ?? shipped.value);
  if (metric === 'TaskLoss') return { type: metric, name, design: designs.of({ ...taskGoal, margin: bound }) };
  return { type: metric, name, bound, minSamples: minSamples ?? shipped.minSamples };
}

/** The RolloutPolicy that an object names: its spec, or why there is none. */
export type NamedPolicy =
  { readonly spec: RolloutPolicySpec } | { readonly spec?: undefined; readonly reason: Reason; readonly message: string };

type Naming = Pick<ExpertPool | EnergyModel, 'metadata' | 'spec'>;

/** Reports whether an object of the policy's namespace names it. Pure. */
export function namesPolicy({ spec }: Naming, { metadata }: RolloutPolicy): boolean {
  return spec.rolloutPolicyRef?.name === metadata.name;
}

/** The policy that an object names; undefined: it names none, and its pods are replaced at once. */
export function namedPolicy(
  { metadata, spec }: Naming,
  kind: 'ExpertPool' | 'EnergyModel',
  policies: Lister<RolloutPolicy>,
): NamedPolicy | undefined {
  const name = spec.rolloutPolicyRef?.name;
  if (name === undefined) return undefined;
  const found = policies.get(`${metadata.namespace ?? ''}/${name}`);
  const held = 'nothing of it is started, changed or removed until then';
  if (found === undefined)
    return {
      reason: 'PolicyMissing',
      message: `spec.rolloutPolicyRef.name: there is no RolloutPolicy ${name} in the namespace; create it, or correct the name; ${held}`,
    };
  const refusal = unfitGate(kind, found.spec.gates);
  if (refusal === undefined) return { spec: found.spec };
  return { reason: 'PolicyUnfit', message: `RolloutPolicy ${name}: ${refusal}; name another policy, or remove the gate; ${held}` };
}

/** Returns the time that pods of a revision stay after its last task, at least, seconds. Pure. */
export function drainSecondsOf(policy: NamedPolicy | undefined): number {
  return policy?.spec?.drainSeconds ?? 0;
}

/** The status of a rollout whose policy cannot be obeyed: everything stays as it is. Pure. `now` is wall time in ms. */
export function withoutPolicy(
  before: RolloutReport | undefined,
  { reason, message }: { readonly reason: Reason; readonly message: string },
  now: number,
): RolloutReport {
  const begun = { phase: 'Idle', weight: 0, step: 0, since: wholeSeconds(now), samplesBefore: 0, samples: 0 } as const;
  return { ...(before ?? begun), reason, message: message.slice(0, 512) };
}

const wholeSeconds = (now: number): string => new Date(Math.floor(now / 1000) * 1000).toISOString().replace('.000', '');
