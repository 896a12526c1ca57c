import { canonical } from '@agentfleet/kube';
import { defaultShadow, type Rollout, type RolloutGate } from '@agentfleet/protocol/api';
import { defaultLooks, designOf, mustPassBefore, type Design, type DesignGoal, type Gate, type RolloutPolicy } from '../rollout/index.ts';

/** Designs that are kept: as many as there may be pools with a goal of their own at once. */
const mostDesigns = 64;

/** Designs of sequential tests by their goals; one takes a fifth of a second to compute. */
export class Designs {
  readonly #known = new Map<string, Design>();

  of(goal: DesignGoal): Design {
    const key = canonical(goal);
    const design = this.#known.get(key) ?? designOf(goal);
    this.#known.delete(key);
    this.#known.set(key, design);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostDesigns && oldest !== undefined) this.#known.delete(oldest);
    return design;
  }
}

/** How requests are copied while a revision is in shadow. Pure. */
export function shadowOf({ shadow = defaultShadow }: Rollout): NonNullable<Rollout['shadow']> {
  return shadow;
}

/** Gates that have to pass before a phase begins. */
function namesOf({ gates = [] }: Rollout, phase: ReturnType<typeof mustPassBefore>): readonly string[] {
  return gates.filter(({ type }) => mustPassBefore(type) === phase).map(({ name }) => name);
}

/** How the machine is to go on, from what the spec says. Pure. */
export function policyOf(spec: Rollout): RolloutPolicy {
  const shadow = shadowOf(spec);
  return {
    strategy: spec.strategy,
    shadowSeconds: shadow.seconds,
    shadowSamples: shadow.minSamples,
    beforeTraffic: namesOf(spec, 'Shadowing'),
    inShadow: namesOf(spec, 'Canary'),
    steps: spec.steps,
    minSamples: spec.minSamples,
    onMissingData: spec.onMissingData,
    stepTimeoutSeconds: spec.stepTimeoutSeconds,
    requireApproval: spec.promotion.requireApproval,
    ...spec.rollback,
  };
}

type Numbers<T> = { readonly [K in keyof T]: T[K] extends string ? number : T[K] };

/** Decimal strings as numbers. */
function numbers<T extends object>(fields: T): Numbers<T> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? Number(value) : (value as unknown)]),
  ) as Numbers<T>;
}

/** The gates of a spec as they are evaluated. */
export function gatesOf(specs: readonly RolloutGate[] | undefined, designs: Designs): readonly Gate[] {
  return (specs ?? []).map((spec) => gateOf(spec, designs));
}

function gateOf(spec: RolloutGate, designs: Designs): Gate {
  const { name } = spec;
  switch (spec.type) {
    case 'TaskPass':
      return { type: spec.type, name, design: designs.of({ ...numbers(spec.taskPass), looks: defaultLooks }) };
    case 'ErrorRate':
      return { type: spec.type, name, ...numbers(spec.errorRate) };
    case 'Latency':
      return { type: spec.type, name, ...numbers(spec.latency) };
    case 'EnergyShift':
      return { type: spec.type, name, ...numbers(spec.energyShift) };
    case 'VetoRate':
      return { type: spec.type, name, ...numbers(spec.vetoRate) };
    case 'DraftAcceptance':
      return { type: spec.type, name, ...numbers(spec.draftAcceptance) };
    case 'RollbackSuccess':
      return { type: spec.type, name, ...numbers(spec.rollbackSuccess) };
    case 'AUC':
      return { type: spec.type, name, ...numbers(spec.auc) };
    case 'ECE':
      return { type: spec.type, name, ...numbers(spec.ece) };
    case 'GoldenSet':
      return { type: spec.type, name, maxLoss: Number(spec.goldenSet.maxLoss), minSamples: spec.goldenSet.minSamples };
    case 'Agreement':
      return { type: spec.type, name, ...numbers(spec.agreement) };
    case 'FalseVeto':
      return { type: spec.type, name, ...numbers(spec.falseVeto) };
    case 'Brier':
      return { type: spec.type, name, ...numbers(spec.brier) };
    case 'CalibrationMap':
      return { type: spec.type, name, ...numbers(spec.calibrationMap) };
    case 'ScoreDrift':
      return { type: spec.type, name, ...numbers(spec.scoreDrift) };
    case 'MissedVeto':
      return { type: spec.type, name, ...numbers(spec.missedVeto) };
    case 'Query':
    default:
      return { type: spec.type, name, ...bounds(spec.query), failureLimit: spec.query.failureLimit };
  }
}

function bounds({ min, max }: { readonly min?: string; readonly max?: string }): { readonly min?: number; readonly max?: number } {
  return { ...(min === undefined ? {} : { min: Number(min) }), ...(max === undefined ? {} : { max: Number(max) }) };
}
