import { defaultShadow, type Reason, type RolloutPolicySpec, type RolloutStatus } from '@agentfleet/protocol/api';
import type { GateResult, Verdict } from '../gates/index.ts';

/** The rules of a policy that the machine obeys, and the gates that have to pass before a phase. */
export interface RolloutRules extends Pick<RolloutPolicySpec, 'strategy' | 'shadow' | 'steps' | 'minSamples' | 'promotion' | 'rollback'> {
  /** Gates of copies: they have to pass in shadow, as nothing is copied later. */
  readonly inShadow: readonly string[];
  /** Gates that need no tasks: they have to pass before the first one is given to the canary. */
  readonly beforeTraffic: readonly string[];
}

/** After which a revision that failed is tried again by itself; the annotation agentfleet.dev/retry-rollout does it once its failed pods are gone. */
const cooldownSeconds = 3600;

/** After which a step that lacks its data is called held: a name for people, as missing data never promote and never roll back. */
const stepTimeoutSeconds = 86_400;

/** Stable revisions that are kept in the status beside the present one. */
const keepLastGreen = 2;

/** State of a rollout that the status keeps. Times are seconds since the epoch. */
export interface RolloutState extends Pick<RolloutStatus, 'phase' | 'weight' | 'step' | 'samplesBefore' | 'samples'> {
  readonly id: string | undefined;
  readonly stable: string | undefined;
  readonly canary: string | undefined;
  readonly retried: string | undefined;
  readonly phaseSince: number;
  readonly lastGreen: readonly string[];
  /** Failed rollouts by revision; a revision that failed as often as the policy allows is frozen. */
  readonly failures: Readonly<Record<string, number>>;
  readonly gates: readonly GateResult[];
  readonly reason: Reason;
  readonly message: string;
}

/** Findings of the controller since the last decision. */
export interface Evidence {
  /** Revision that the spec asks for. */
  readonly desired: string;
  /** Readiness of the canary's engines. `Absent`: one of them does not answer. `Failed`: one will not answer by itself. */
  readonly canaryEngines: 'Absent' | 'Loading' | 'Ready' | 'Failed';
  /** Reason that the revision cannot be rolled out: a digest that does not match, another tokenizer. Undefined when it can. */
  readonly incompatible: string | undefined;
  readonly gates: readonly GateResult[];
  /** Tasks of the canary that were judged: in this step and over all. */
  readonly stepSamples: number;
  readonly samples: number;
  /** Copies of requests that the revision answered in shadow. */
  readonly answeredCopies: number;
  /** Name of another rollout that is open: a generator and its verifier never change together. */
  readonly lockedBy: string | undefined;
  /** Whether a human approved this very revision. */
  readonly approved: boolean;
  /** Whether one rejected it. */
  readonly rejected?: boolean;
  /** Whether promotions are allowed at this hour. */
  readonly windowOpen: boolean;
  readonly now: number;
}

/** A rollout of which nothing is known yet. */
export const idle: RolloutState = {
  phase: 'Idle',
  id: undefined,
  stable: undefined,
  canary: undefined,
  weight: 0,
  step: 0,
  samplesBefore: 0,
  samples: 0,
  retried: undefined,
  phaseSince: 0,
  lastGreen: [],
  failures: {},
  gates: [],
  reason: 'Idle',
  message: '',
};

const unjudged: GateResult = {
  name: '',
  verdict: 'InsufficientData',
  value: undefined,
  baseline: undefined,
  samples: 0,
  message: 'it was not judged yet',
};

/**
 * The next state of a rollout. Promotion and rollback are flips of the pointer: `stable` and `weight` say where tasks go, and
 * nothing else has to happen for that. Missing data never promotes. Pure; call it again until nothing changes.
 */
export function advance(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState {
  switch (state.phase) {
    case 'Idle':
    case 'Frozen':
      return begin(state, policy, evidence);
    case 'Loading':
      return interrupted(state, evidence) ?? load(state, policy, evidence);
    case 'Shadowing':
      return interrupted(state, evidence) ?? shadow(state, policy, evidence);
    case 'Canary':
      return interrupted(state, evidence) ?? canary(state, policy, evidence);
    case 'Promoting':
      return promote(state, evidence);
    case 'RollingBack':
    default:
      return rolledBack(state, policy, evidence);
  }
}

function enter(
  state: RolloutState,
  now: number,
  change: Partial<RolloutState> & Pick<RolloutState, 'phase' | 'reason' | 'message'>,
): RolloutState {
  return { ...state, ...change, phaseSince: now };
}

/** Stays where it is, with the reason. */
function hold(state: RolloutState, reason: Reason, message: string): RolloutState {
  return { ...state, reason, message };
}

function begin(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState {
  const { desired, now } = evidence;
  if (state.stable === undefined) return first(state, evidence);
  if (desired === state.stable) return settle(state, now);
  const failures = state.failures[desired] ?? 0;
  if (failures >= policy.rollback.freezeAfterFailures)
    return state.phase === 'Frozen' && state.canary === desired
      ? state
      : enter(state, now, {
          phase: 'Frozen',
          canary: desired,
          weight: 0,
          reason: 'Frozen',
          message: `${failures < rejectedFailures ? `${desired} failed ${failures} times` : `a person rejected ${desired}`}: give another revision, or the annotation agentfleet.dev/retry-rollout another value`,
        });
  if (failures > 0 && now - state.phaseSince < cooldownSeconds) return coolDown(state, evidence);
  if (evidence.incompatible !== undefined) return hold({ ...state, weight: 0 }, 'Incompatible', evidence.incompatible);
  // Failed pods left of an earlier try would fail this one before it has begun.
  if (evidence.canaryEngines === 'Failed')
    return hold(state, 'EnginesFailed', `pods of ${desired} are there that do not come up: it is tried once they are gone or answer`);
  if (evidence.lockedBy !== undefined)
    return hold(state, 'RolloutLocked', `${evidence.lockedBy} is being rolled out: a generator and its verifier do not change together`);
  return enter(state, now, {
    phase: 'Loading',
    canary: desired,
    weight: 0,
    step: 0,
    gates: [],
    reason: 'Loading',
    message: 'its engines are coming up',
  });
}

/** Reasons for which a revision is led back; what follows must not hide them. */
const causes: ReadonlySet<Reason> = new Set(['EnginesFailed', 'GateFailed', 'Incompatible']);

/** Waits before another try; what the last one failed by goes on being reported. */
function coolDown(state: RolloutState, { desired }: Evidence): RolloutState {
  const again = `it is tried again ${cooldownSeconds} s after that`;
  if (!causes.has(state.reason)) return hold(state, 'Cooldown', `${desired} failed; ${again}`);
  return state.message.includes(again) ? state : hold(state, state.reason, `${state.message}; ${again}`);
}

/** The first revision has nothing to be compared with. */
function first(state: RolloutState, { desired, now, incompatible, canaryEngines }: Evidence): RolloutState {
  if (incompatible !== undefined) return hold(state, 'Incompatible', incompatible);
  if (canaryEngines !== 'Ready') return hold({ ...state, canary: desired }, 'Loading', 'the first revision is coming up');
  return enter(state, now, {
    phase: 'Idle',
    stable: desired,
    canary: undefined,
    weight: 0,
    reason: 'Idle',
    message: 'the first revision serves',
  });
}

/** Reasons to report when nothing is tried: why the present revision serves. Any other is about one no longer asked for. */
const settled: ReadonlySet<Reason> = new Set(['Idle', 'Promoted', 'Superseded']);

function settle(state: RolloutState, now: number): RolloutState {
  const isIdle = state.phase === 'Idle' && state.canary === undefined;
  if (isIdle && settled.has(state.reason)) return state;
  const message = 'what serves is what the spec asks for';
  if (isIdle) return hold(state, 'Idle', message);
  return enter(state, now, { phase: 'Idle', canary: undefined, weight: 0, step: 0, reason: 'Idle', message });
}

/** Ends a rollout in any phase, on engines that fail or another revision that is asked for; undefined: it goes on. */
function interrupted(state: RolloutState, evidence: Evidence): RolloutState | undefined {
  const { desired, canaryEngines, incompatible } = evidence;
  if (desired !== state.canary) return back(state, evidence, 'Superseded', `${desired} is asked for instead`, false);
  if (evidence.rejected === true) return rejected(state, evidence);
  if (incompatible !== undefined) return back(state, evidence, 'Incompatible', incompatible, true);
  const gone = state.phase === 'Loading' ? 'did not come up' : 'went away';
  if (canaryEngines === 'Failed') return back(state, evidence, 'EnginesFailed', `its engines ${gone}: see their pods`, true);
  return undefined;
}

/** Counted for a revision that a person rejected: the most that the status takes, and more than any policy forgives. */
export const rejectedFailures = 1000;

/** Leads back a revision that a person rejected; it is not tried again by itself. */
function rejected(state: RolloutState, evidence: Evidence): RolloutState {
  const next = back(state, evidence, 'RolloutRejected', 'a person rejected it, by an AgentTaskOrder', true);
  return { ...next, failures: { ...next.failures, [state.canary ?? '']: rejectedFailures } };
}

/** Ends a rollout or holds it, whatever its phase still waits for. A revision without engines gets nothing new. */
function stopped(state: RolloutState, { strategy }: RolloutRules, evidence: Evidence): RolloutState | undefined {
  const { canaryEngines, gates } = evidence;
  // A person may edit the strategy meanwhile: no gate is asked any more.
  if (strategy === 'Recreate' && canaryEngines === 'Ready')
    return enter(state, evidence.now, { phase: 'Promoting', reason: 'Promoting', message: 'its engines are ready' });
  const weight = canaryEngines === 'Absent' ? 0 : state.weight;
  if (strategy === 'Recreate') return hold({ ...state, weight }, 'Loading', 'promoted without gates when all of its pods answer');
  const failed = failedGate(evidence);
  if (failed !== undefined) return back(state, evidence, 'GateFailed', failed, true);
  if (canaryEngines !== 'Absent') return undefined;
  return hold({ ...state, gates, weight }, 'Loading', 'one of its engines does not answer: until it does, tasks go to what serves');
}

function back(state: RolloutState, { now, gates }: Evidence, reason: Reason, message: string, failed: boolean): RolloutState {
  const canary = state.canary ?? '';
  const failures = failed ? { ...state.failures, [canary]: (state.failures[canary] ?? 0) + 1 } : state.failures;
  return enter(state, now, { phase: 'RollingBack', weight: 0, failures, reason, message, gates });
}

function load(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState {
  if (evidence.canaryEngines !== 'Ready') return state;
  if (policy.strategy === 'Recreate')
    return enter(state, evidence.now, { phase: 'Promoting', reason: 'Promoting', message: 'its engines are ready' });
  const held = beforeTraffic(state, policy, evidence);
  if (held !== undefined) return held;
  if (policy.strategy === 'ShadowThenCanary')
    return enter(state, evidence.now, {
      phase: 'Shadowing',
      reason: 'Shadowing',
      message: 'it answers beside the stable revision, and nobody listens',
    });
  return toStep(state, policy, evidence, 0);
}

/** Returns one of the gates that need no tasks that does not pass; undefined: all do. */
function unpassed({ beforeTraffic: names }: Pick<RolloutRules, 'beforeTraffic'>, { gates }: Evidence): GateResult | undefined {
  const found = names.map((name) => gates.find((gate) => gate.name === name) ?? { ...unjudged, name });
  const open = (word: Verdict): GateResult | undefined => found.find(({ verdict }) => verdict === word);
  return open('Fail') ?? open('InsufficientData') ?? open('Inconclusive');
}

/** Stays without tasks until the gates that need none pass; undefined: they do. */
function beforeTraffic(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState | undefined {
  const failed = failedGate(evidence);
  if (failed !== undefined) return back(state, evidence, 'GateFailed', failed, true);
  const open = unpassed(policy, evidence);
  if (open === undefined) return undefined;
  const { now, gates } = evidence;
  // The time of the Jobs does not begin before the engines are ready.
  const first = state.reason === 'Loading';
  const since = first ? now : state.phaseSince;
  const current = { ...state, gates, phaseSince: since };
  const message = `no task before gate ${open.name} passes: ${open.message}`;
  if (now - since < stepTimeoutSeconds)
    return hold(current, open.verdict === 'InsufficientData' && !first ? 'NoGoldenResult' : 'GoldenSet', message);
  return hold(current, 'Held', message);
}

function shadow(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState {
  const stop = stopped(state, policy, evidence);
  if (stop !== undefined) return stop;
  const current = { ...state, gates: evidence.gates };
  const waited = evidence.now - state.phaseSince;
  const lacking = lackingInShadow(policy, evidence);
  if (lacking !== undefined) return lacks(current, evidence, lacking);
  const { seconds } = policy.shadow ?? defaultShadow;
  if (waited < seconds) return hold(current, 'Shadowing', `${seconds} s in shadow have to pass`);
  return toStep(current, policy, evidence, 0);
}

/** Returns what is missing before tasks may work with a revision in shadow: answered copies, and a result of each gate that counts now. */
function lackingInShadow(policy: RolloutRules, evidence: Evidence): string | undefined {
  const { gates, answeredCopies } = evidence;
  const { minSamples } = policy.shadow ?? defaultShadow;
  if (answeredCopies < minSamples) return `${answeredCopies} of ${minSamples} copies of requests were answered`;
  const open =
    unpassed({ beforeTraffic: [...policy.beforeTraffic, ...policy.inShadow] }, evidence) ??
    gates.find(({ verdict }) => verdict === 'InsufficientData');
  return open === undefined ? undefined : `gate ${open.name} is ${open.verdict}: ${open.message}`;
}

/** Holds a rollout that lacks data: missing data is no proof of anything, neither good nor bad. */
function lacks(current: RolloutState, evidence: Evidence, lacking: string): RolloutState {
  if (evidence.now - current.phaseSince < stepTimeoutSeconds) return hold(current, 'InsufficientData', lacking);
  return hold(current, 'Held', `${lacking}; held until they come, or until another revision is asked for`);
}

function toStep(state: RolloutState, policy: RolloutRules, evidence: Evidence, index: number): RolloutState {
  const step = policy.steps[index];
  if (step === undefined)
    return enter(state, evidence.now, { phase: 'Promoting', gates: evidence.gates, reason: 'Promoting', message: 'all steps are passed' });
  const message = `${step.weight} % of tasks, step ${index + 1} of ${policy.steps.length}`;
  return enter(state, evidence.now, {
    phase: 'Canary',
    step: index,
    weight: step.weight,
    gates: evidence.gates,
    reason: 'Canary',
    message,
  });
}

function canary(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState {
  const stop = stopped(state, policy, evidence);
  if (stop !== undefined) return stop;
  // A person may edit the steps meanwhile: it is at the last one at most, with the weight that this one has now.
  const index = Math.max(0, Math.min(state.step, policy.steps.length - 1));
  const step = policy.steps[index];
  const last = index >= policy.steps.length - 1;
  const current = { ...state, step: index, weight: step?.weight ?? state.weight, gates: evidence.gates };
  const waited = evidence.now - state.phaseSince;
  const lacking = lackingOf(policy, evidence, step?.minSamples ?? 0, last);
  if (lacking !== undefined) return lacks(current, evidence, lacking);
  if (waited < (step?.pauseSeconds ?? 0)) return hold(current, 'Paused', `${step?.pauseSeconds} s of the step have to pass`);
  if (last && policy.promotion.requireApproval && !evidence.approved)
    return hold(current, 'AwaitingApproval', 'every gate passes: approve the revision by an AgentTaskOrder');
  if (last && !evidence.windowOpen) return hold(current, 'OutsideWindow', 'every gate passes: promoted when the window opens');
  if (last && evidence.canaryEngines !== 'Ready')
    return hold(current, 'Loading', 'every gate passes: promoted when all of its pods answer again');
  return toStep(current, policy, evidence, index + 1);
}

/**
 * Returns what is missing for the step to be passed: its samples, and data for every gate. A gate without a verdict yet lets the weight
 * grow, as it learns faster then, unless the canary looks worse than it may be; it is promoted only when every gate passes, with the
 * samples of the whole rollout.
 */
function lackingOf(policy: RolloutRules, evidence: Evidence, minSamples: number, last: boolean): string | undefined {
  const { gates, stepSamples, samples } = evidence;
  // Another content of a golden set since the first task: nothing grows before it is judged.
  const anew = unpassed(policy, evidence);
  if (anew !== undefined) return `gate ${anew.name} is ${anew.verdict}: ${anew.message}`;
  if (stepSamples < minSamples) return `${stepSamples} of ${minSamples} tasks of this step were judged`;
  if (last && samples < policy.minSamples) return `${samples} of ${policy.minSamples} tasks of the canary were judged`;
  const open = gates.find(({ verdict, worse }) => (last ? verdict !== 'Pass' : verdict === 'InsufficientData' || worse));
  return open === undefined ? undefined : `gate ${open.name} is ${open.verdict}: ${open.message}`;
}

function failedGate({ gates }: Evidence): string | undefined {
  const failed = gates.find(({ verdict }) => verdict === 'Fail');
  return failed === undefined ? undefined : `gate ${failed.name}: ${failed.message}`;
}

function promote(state: RolloutState, evidence: Evidence): RolloutState {
  // Nothing is flipped to engines that went away since the gates were passed.
  if (evidence.canaryEngines !== 'Ready') return back(state, evidence, 'EnginesFailed', 'its engines went away before the promotion', true);
  const lastGreen =
    state.stable === undefined ? state.lastGreen : [state.stable, ...state.lastGreen.filter((green) => green !== state.stable)];
  return enter(state, evidence.now, {
    phase: 'Idle',
    stable: state.canary,
    canary: undefined,
    weight: 0,
    step: 0,
    lastGreen: lastGreen.slice(0, keepLastGreen),
    reason: 'Promoted',
    message: `${state.canary} serves`,
  });
}

function rolledBack(state: RolloutState, policy: RolloutRules, evidence: Evidence): RolloutState {
  const { canary } = state;
  const frozen = canary !== undefined && (state.failures[canary] ?? 0) >= policy.rollback.freezeAfterFailures;
  if (frozen)
    return enter(state, evidence.now, {
      phase: 'Frozen',
      weight: 0,
      reason: 'Frozen',
      message: `${state.message}; frozen${state.reason === 'RolloutRejected' ? '' : ' after repeated failure'}`,
    });
  const message = `${canary ?? ''}: ${state.message}`;
  return enter(state, evidence.now, { phase: 'Idle', canary: undefined, weight: 0, step: 0, reason: state.reason, message });
}
