import { canonical, cut, type NewEvent, timestamp } from '@agentfleet/kube';
import { type RolloutPolicySpec, type RolloutStatus, passedOn } from '@agentfleet/protocol/api';
import {
  advance,
  evaluateGate,
  isSaidBy,
  mustPassBefore,
  speaks,
  type ArmEvidence,
  type Evidence,
  type Gate,
  type GateResult,
  type RolloutState,
  idle,
} from '../rollout/index.ts';
import { defined, type RolloutOwnerStatus, rolloutReport, type RolloutReport } from './report.ts';
import { gatesOf, rulesOf, type Designs } from './policy.ts';
import { isWindowOpen } from './engines.ts';

/** Facts that are known from outside when it is decided how a rollout goes on. */
export interface Seen extends Pick<Evidence, 'desired' | 'canaryEngines' | 'incompatible' | 'lockedBy'> {
  /** Returns the evidence about the two arms of a rollout. */
  readonly evidence: (
    rollout: string,
    arms: { readonly stable: string; readonly canary: string },
  ) => { readonly stable: ArmEvidence; readonly canary: ArmEvidence };
  /** Revision that a person approved. */
  readonly approved: string | undefined;
  /** Revision that a person rejected. */
  readonly rejected?: string | undefined;
  /** Value of the annotation that forgives failures. */
  readonly retry: string | undefined;
  /** Wall time, ms. */
  readonly now: number;
}

/** Seconds that the clocks of two operators may differ by. */
const skewSeconds = 5;

/** More steps at one moment there are not: each step of the strategy, and the phases around them. */
const mostSteps = 32;

/** Phases in which a revision is being tried. */
export function isOpen(status: RolloutStatus | undefined): boolean {
  return status !== undefined && status.stable !== undefined && status.phase !== 'Idle' && status.phase !== 'Frozen';
}

/**
 * Returns the report of the rollout after what was seen. Promotion and rollback go in one step from the verdict to the new
 * pointer, so that one write of the status flips it. Pure but for the memory of `designs`.
 */
export function progress(status: RolloutReport | undefined, spec: RolloutPolicySpec, seen: Seen, designs: Designs): RolloutReport {
  const now = Math.floor(seen.now / 1000);
  let state = forgiven(status === undefined ? { ...idle, phaseSince: now } : stateOf(status), seen.retry);
  const skew = state.phaseSince - now;
  if (skew > skewSeconds) return reportOf(skewed(state, skew));
  for (let step = 0; step < mostSteps; step += 1) {
    const next = follow(state, spec, { seen, now, designs });
    if (canonical(next) === canonical(state)) break;
    state = next;
  }
  return reportOf(state);
}

function skewed(state: RolloutState, seconds: number): RolloutState {
  const message = `the phase began ${Math.round(seconds)} s after now: the clock went back, or another operator's is ahead; set the clocks of the nodes, nothing moves until then`;
  return { ...state, reason: 'ClockSkew', message };
}

/** A word that was not heard before makes a fresh start for revisions that failed. */
function forgiven(state: RolloutState, retry: string | undefined): RolloutState {
  const word = retry?.slice(0, 128);
  return word === undefined || word === state.retried ? state : { ...state, retried: word, failures: {} };
}

interface Given {
  readonly seen: Seen;
  readonly now: number;
  readonly designs: Designs;
}

function follow(state: RolloutState, spec: RolloutPolicySpec, { seen, now, designs }: Given): RolloutState {
  const asked = askedGates(state, spec, seen);
  const found = asked === undefined ? undefined : evidenceOf(state, seen);
  const samples = found?.canary.tasks.total ?? state.samples;
  const gates = found === undefined ? state.gates : judge(gatesOf(asked, designs), found, state);
  const next = advance(state, rulesOf(spec), {
    desired: seen.desired,
    canaryEngines: seen.canaryEngines,
    incompatible: seen.incompatible,
    gates,
    stepSamples: samples - state.samplesBefore,
    samples,
    answeredCopies: found?.canary.shadow?.answered ?? 0,
    lockedBy: seen.lockedBy,
    approved: seen.approved !== undefined && seen.approved === state.canary,
    rejected: seen.rejected !== undefined && seen.rejected === state.canary,
    windowOpen: isWindowOpen(spec.promotion.windows, seen.now),
    now,
  });
  const began = next.phase === 'Loading' && state.phase !== 'Loading';
  if (began) return { ...next, id: `${next.canary ?? ''}-${now.toString(36)}`, samples: 0, samplesBefore: 0 };
  // A lower number is the same step, of a policy with fewer of them.
  const stepped = next.phase !== state.phase || next.step > state.step;
  return { ...next, samples, samplesBefore: stepped ? samples : state.samplesBefore };
}

/** Gates that have something to say now, or have said it in shadow; undefined: none is looked at. */
function askedGates({ phase }: RolloutState, { gates = [] }: RolloutPolicySpec, seen: Seen): RolloutPolicySpec['gates'] {
  const asked = gates.filter(({ metric }) => speaks(metric, phase) || (phase === 'Canary' && mustPassBefore(metric) === phase));
  if (phase === 'Loading') return seen.canaryEngines === 'Ready' && asked.length > 0 ? asked : undefined;
  return phase === 'Canary' || phase === 'Shadowing' ? asked : undefined;
}

function evidenceOf(
  { id, stable, canary }: RolloutState,
  seen: Seen,
): { readonly stable: ArmEvidence; readonly canary: ArmEvidence } | undefined {
  return id === undefined || stable === undefined || canary === undefined ? undefined : seen.evidence(id, { stable, canary });
}

function judge(
  gates: readonly Gate[],
  { canary, stable }: { readonly canary: ArmEvidence; readonly stable: ArmEvidence },
  { gates: before, phase }: RolloutState,
): readonly GateResult[] {
  const previous = new Map(before.map((result) => [result.name, result]));
  return gates.map((gate) => {
    const last = previous.get(gate.name);
    // Results from copies in shadow stand if this rule gave them: no copies come later.
    return last !== undefined && !speaks(gate.type, phase) && isSaidBy(gate, last) ? last : evaluateGate(gate, canary, stable, last);
  });
}

/** Reports whether the rollout has moved from its present state. Pure. */
export function rolloutMoved(present: RolloutOwnerStatus | undefined, next: RolloutOwnerStatus): boolean {
  const [old, now] = [present?.rollout, next.rollout];
  if (old === undefined || now === undefined) return old !== now;
  const fields = ['phase', 'id', 'stable', 'canary', 'weight', 'step', 'retried'] as const;
  return fields.some((field) => old[field] !== now[field]);
}

const warnings: ReadonlySet<string> = new Set([
  'GateFailed',
  'EnginesFailed',
  'NoGoldenResult',
  'Frozen',
  'Incompatible',
  'NoPlace',
  'ClockSkew',
  'RevisionLost',
  'BookUnreadable',
]);

/** Returns the event for people about a rollout: each new phase, and what holds it up. Pure. */
export function rolloutEvent(present: RolloutOwnerStatus | undefined, next: RolloutOwnerStatus): NewEvent | undefined {
  const [old, now] = [rolloutReport(present), rolloutReport(next)];
  if (now === undefined || (old?.phase === now.phase && old.reason === now.reason && old.step === now.step)) return undefined;
  return { type: warnings.has(now.reason) ? 'Warning' : 'Normal', reason: now.reason, action: 'Rollout', note: now.message.slice(0, 1024) };
}

const mostFailures = 16;

function decimal(value: number | undefined): string | undefined {
  if (value === undefined || !Number.isFinite(value) || Math.abs(value) >= 1e9) return undefined;
  const text = value.toFixed(6).replace(/0+$/, '').replace(/\.$/, '');
  return text === '-0' ? '0' : text;
}

type GateState = NonNullable<RolloutStatus['gates']>[number];

function gateOf({ value, baseline, message = '', ...rest }: GateState): GateResult {
  const [found, base] = [value, baseline].map((text) => (text === undefined ? undefined : Number(text)));
  return { ...rest, value: found, baseline: base, message };
}

function gateStatus({ value, baseline, look, message, worse: _worse, ...rest }: GateResult): GateState {
  return defined<GateState>({ ...rest, look, value: decimal(value), baseline: decimal(baseline), message: cut(message, 256) });
}

/** The state that a status records. Pure. */
function stateOf(status: RolloutReport): RolloutState {
  const { since, gates = [], reason, ...rest } = status;
  return { ...idle, ...rest, reason: passedOn(reason), phaseSince: Date.parse(since) / 1000, gates: gates.map(gateOf) };
}

/** The status of a state. Pure. */
function reportOf({ phaseSince, lastGreen, failures, gates, message, ...rest }: RolloutState): RolloutReport {
  const failed = Object.entries(failures).slice(-mostFailures);
  return defined<RolloutReport>({
    ...rest,
    since: timestamp(phaseSince * 1000),
    lastGreen: lastGreen.length === 0 ? undefined : [...lastGreen],
    failures: failed.length === 0 ? undefined : Object.fromEntries(failed),
    gates: gates.length === 0 ? undefined : gates.map(gateStatus),
    message: cut(message, 512),
  });
}
