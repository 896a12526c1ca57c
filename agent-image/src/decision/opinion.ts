import type { ActInQuestion, SecondOpinion, Ranked, Ranking } from '../attempt/ports.ts';
import type { CalibrationBrief, VerifierEndpoint } from '@agentfleet/protocol/pool';
import type { EnergyHead, PolicyLabel, ScoreItem, ScoreResponse } from '@agentfleet/protocol/inference';
import type { Comparison, Judged } from '../shadow/index.ts';
import { weighedGain, weighedShare } from './prior.ts';

/** Opinion of one part about an act: null when the pool has none, why it is silent, or its numbers. */
export type PartOpinion<T> = T | { readonly silent: string } | null;

/** All inputs of gate 2. */
export interface PartOpinions {
  readonly policy: PartOpinion<{ readonly unsafe: number; readonly label: string }>;
  /** By the planner. Recorded, and not counted: it is of the state of the work, which is the same whatever the act. Null: unknown. */
  readonly risk: number | null;
  /** pSuccess null: not calibrated, no veto. */
  readonly verifier: PartOpinion<{ readonly energy: number; readonly pSuccess: number | null }>;
  readonly whenUnavailable: 'FailClosed' | 'Degrade';
  readonly vetoBelowProbability: number;
  /** Below it Policy alone must be as sure as where no part measures energy. */
  readonly warnBelowProbability: number;
}

/**
 * An act at least this likely to be unsafe is refused. The classifier's own threshold for 5 % false alarms is higher;
 * docs/reference/gates.md explains why this one is kept.
 */
const unsafeFrom = 0.5;
/**
 * For an act without an objection by a rail: the classifier's threshold for 5 % false alarms, as far more of these are
 * harmless.
 */
const unsafeFromUnobjected = 0.83;
/** A Verifier that has read Policy's answer and gives an act at least this probability decides about it. */
const harmlessFrom = 0.5;
/** Threshold where no part measures energy, or the energy warns: Policy has to be surer. */
const unsafeFromAlone = 0.2;

const isSilent = (opinion: PartOpinion<object>): opinion is { readonly silent: string } => opinion !== null && 'silent' in opinion;
const numbersOf = <T extends object>(opinion: PartOpinion<T>): T | null => (opinion === null || isSilent(opinion) ? null : opinion);

type RailsWord = Pick<ActInQuestion['rails'], 'decision' | 'risk'>;

/**
 * Reports whether gate 1 asks for a second opinion; an act that it passes without an allowlist is scored, and passes where no part
 * scores.
 */
export const objected = ({ decision }: Pick<RailsWord, 'decision'>): boolean => decision !== 'Allow' && decision !== 'NeedsSnapshot';

/** Gate 2; the tables are docs/reference/gates.md. Pure. */
export function decide(given: PartOpinions, rails: RailsWord): SecondOpinion {
  const policy = numbersOf(given.policy);
  const verifier = numbersOf(given.verifier);
  const why = objected(rails)
    ? (veto(given, unsafeFrom) ?? firstSilent(given) ?? lacking(given, rails.risk))
    : (veto(withoutOverruledPolicy(given), unsafeFromUnobjected) ?? allSilent(given));
  return {
    allowed: why === null,
    why: why ?? '',
    unsafe: policy?.unsafe ?? null,
    risk: given.risk,
    energy: verifier?.energy ?? null,
    pSuccess: verifier?.pSuccess ?? null,
  };
}

/** Of the opinions about the pieces of an act: the first that refuses, else that with the highest energy. Pure. */
export function worst(opinions: readonly SecondOpinion[]): SecondOpinion {
  const cost = ({ energy }: SecondOpinion): number => energy ?? Number.NEGATIVE_INFINITY;
  return opinions.find(({ allowed }) => !allowed) ?? opinions.reduce((one, other) => (cost(other) > cost(one) ? other : one));
}

/** The opinion about an act that has more pieces than are judged, whatever is said of some of them. Pure. */
export function tooLong({ subject, content }: Pick<ActInQuestion, 'subject' | 'content'>): SecondOpinion {
  const chars = subject.length + (content?.length ?? 0);
  const cure = content === undefined ? 'give a shorter stdin, or write the text to files and name them' : 'write less at a time';
  const why = `it is too long to be judged (${chars} characters); ${cure}`;
  return { allowed: false, why, unsafe: null, risk: null, energy: null, pSuccess: null };
}

/**
 * For an act without an objection by a rail: Policy's answer is one of the features that a calibrated Verifier weighs
 * with all others, so a Verifier that considers the act harmless has already used it. One without a calibration never
 * overrules.
 */
function withoutOverruledPolicy(given: PartOpinions): PartOpinions {
  const pSuccess = numbersOf(given.verifier)?.pSuccess ?? null;
  const holds = pSuccess !== null && pSuccess >= Math.max(harmlessFrom, given.warnBelowProbability);
  return holds ? { ...given, policy: null } : given;
}

/** Words on what an act of a class would do, and what is accepted in its place: the model that reads them knows no classes. */
const dangers: Readonly<Record<Exclude<PolicyLabel, 'Benign'>, string>> = {
  Destructive: 'it may lose data or history; name each file, of this workspace, or make a copy first',
  Exfiltration: 'it may show secrets or data to others; keep them in the sandbox, and out of files and output',
  Escape: 'it may reach beyond the sandbox or run code of others; use what is in the workspace, with the rights you have',
  Persistence: 'it may leave something that acts or lets somebody in after the task; change files of the project alone',
  Tampering: 'it may forge what proves or records the work; change the code that is tested',
};

/** A score with its class in words; Benign names no danger, and beside a score that refuses it would read as its contrary. */
function worded({ unsafe, label }: { readonly unsafe: number; readonly label: string }): string {
  if (label === 'Benign') return unsafe.toFixed(3);
  const danger = Object.entries(dangers).find(([name]) => name === label)?.[1];
  return `${unsafe.toFixed(3)} (${label}${danger === undefined ? '' : `: ${danger}`})`;
}

/** One refusing part is enough. */
function veto(given: PartOpinions, unsafeBound: number): string | null {
  const { vetoBelowProbability } = given;
  const policy = numbersOf(given.policy);
  if (policy !== null && policy.unsafe >= unsafeBound) return `Policy: unsafe ${worded(policy)} is not below ${unsafeBound}`;
  const pSuccess = numbersOf(given.verifier)?.pSuccess ?? null;
  if (pSuccess !== null && pSuccess < vetoBelowProbability)
    return `Verifier: pSuccess ${pSuccess.toFixed(3)} is below ${vetoBelowProbability}`;
  return pSuccess === null ? null : warning(given, pSuccess);
}

/** An act to which the Verifier gives a middling probability passes only when Policy is sure of it. */
function warning({ policy, warnBelowProbability }: PartOpinions, pSuccess: number): string | null {
  const judged = numbersOf(policy);
  if (pSuccess >= warnBelowProbability || (judged !== null && isSure(judged))) return null;
  const words = judged === null ? 'and no Policy answers' : `and Policy's unsafe ${worded(judged)} is not below ${unsafeFromAlone}`;
  return `Verifier: pSuccess ${pSuccess.toFixed(3)} is below ${warnBelowProbability}, ${words}`;
}

const isSure = ({ unsafe, label }: { readonly unsafe: number; readonly label: string }): boolean =>
  label === 'Benign' && unsafe < unsafeFromAlone;

/** A part that was asked and is silent closes the gate, unless the EnergyModel has Degrade. */
function firstSilent({ policy, verifier, whenUnavailable }: PartOpinions): string | null {
  if (whenUnavailable === 'Degrade') return null;
  for (const [name, opinion] of [
    ['Policy', policy],
    ['Verifier', verifier],
  ] as const)
    if (isSilent(opinion)) return `${name} gave no answer (${opinion.silent}) and whenUnavailable is FailClosed`;
  return null;
}

/** At least one judging part must answer where a pool has such parts and closes without them. */
function allSilent({ policy, verifier, whenUnavailable }: PartOpinions): string | null {
  const asked = [policy, verifier].filter((opinion) => opinion !== null);
  const silent = asked.find(isSilent);
  if (whenUnavailable === 'Degrade' || silent === undefined || !asked.every(isSilent)) return null;
  return `nobody vouches for it, nobody answered (${silent.silent}) and whenUnavailable is FailClosed`;
}

/** Facts that must be known. */
function lacking({ policy, verifier, whenUnavailable }: PartOpinions, risk: ActInQuestion['rails']['risk']): string | null {
  const judged = numbersOf(policy);
  const scored = numbersOf(verifier);
  if (verifier === null) {
    if (judged === null) return 'the pool has neither a Policy expert nor a verifier that could judge it';
    if (!isSure(judged)) return `Policy: unsafe ${worded(judged)} is not below ${unsafeFromAlone}, which a pool without verifier asks for`;
    return lasting.has(risk) ? `the pool has no verifier, and what the act does (${risk}) cannot be put back` : null;
  }
  if (policy === null && whenUnavailable === 'FailClosed') return 'the pool has no Policy expert and whenUnavailable is FailClosed';
  const opinions = judged !== null || (scored !== null && scored.pSuccess !== null);
  if (opinions) return null;
  return restorable.has(risk) ? null : `nobody could judge it, and what the act does (${risk}) is not known to be put back by a restore`;
}

const lasting: ReadonlySet<string> = new Set(['External', 'Destructive']);
const restorable: ReadonlySet<string> = new Set(['ReadOnly', 'Reversible']);

/**
 * Returns why the probabilities of a verifier do not count; null: they do. A worker may run longer than the operator,
 * so it checks the clock itself. Pure.
 *
 * @param reported digest of the calibration that made the probabilities, from the answer; undefined: not asked yet
 * @param now wall time, ms; null: unknown, the operator's status decides
 */
export function abstention(brief: CalibrationBrief | undefined, reported: string | null | undefined, now: number | null): string | null {
  if (brief === undefined) return null;
  const { abstains, until, digest } = brief;
  if (abstains !== null) return `no calibration in force: ${abstains}`;
  if (until !== undefined && now !== null && !(now < Date.parse(until))) return `calibration stale since ${until}`;
  if (digest !== undefined && reported !== undefined && reported !== digest)
    return 'it answers by another calibration than the one in force';
  return null;
}

/** Id of an act that gate 2 asks about, apart from those of candidates. */
export const actId = 'act';

/** Id of a piece of such an act for a verifier; the first has that of the act. */
export const pieceId = (at: number): string => (at === 0 ? actId : `${actId}${at}`);
const ofAct = /^act\d*$/;

/** Returns the thresholds of the head, else those of the model. Pure. */
export function thresholdsOf(verifier: VerifierEndpoint | null, head: EnergyHead) {
  const { vetoBelowProbability = 0, warnBelowProbability = 0 } = verifier?.heads?.find((one) => one.head === head) ?? verifier ?? {};
  return { vetoBelowProbability, warnBelowProbability };
}

/** A verifier, and an answer of its. */
export interface Scored {
  readonly verifier: VerifierEndpoint;
  readonly answer: ScoreResponse;
}

/**
 * Compares the verdicts of each verifier alone on the act of a request, by its own thresholds and calibration; of several
 * pieces the worst one counts. Pure.
 */
export function compareActs(items: readonly ScoreItem[], stable: Scored, shadow: Scored, now: number | null): Comparison {
  const pieces = items.flatMap(({ id, head }, at) => (ofAct.test(id) ? [{ head, at }] : []));
  if (pieces.length === 0) return { acts: [] };
  const by = (scored: Scored): Judged => leastLikely(pieces.map(({ head, at }) => verdictOf(scored, at, head, now)));
  return { acts: [{ stable: by(stable), shadow: by(shadow) }] };
}

function leastLikely(verdicts: readonly Judged[]): Judged {
  const p = ({ pSuccess }: Judged): number => pSuccess ?? Number.POSITIVE_INFINITY;
  return verdicts.reduce((one, other) => (p(other) < p(one) ? other : one));
}

function verdictOf({ verifier, answer }: Scored, at: number, head: EnergyHead, now: number | null): Judged {
  const pSuccess = answer.scores[at]?.pSuccess ?? null;
  const why = abstention(verifier.calibration, answer.calibration ?? null, now);
  if (why !== null || pSuccess === null) return { verdict: 'Abstain', pSuccess: null };
  const { vetoBelowProbability, warnBelowProbability } = thresholdsOf(verifier, head);
  return { verdict: pSuccess < vetoBelowProbability ? 'Veto' : pSuccess < warnBelowProbability ? 'Warn' : 'Pass', pSuccess };
}

/**
 * Orders candidates, the best first: by energy where the verifier answered, ties by the expert's own order. Without
 * energies the expert's order decides, weighted by the likelihoods of a language model. The margin is the gap of the
 * two best in nats.
 *
 * @param weighGains whether likelihoods count beside the energies too, because the verifier does not read them
 */
export function ordered(candidates: readonly Ranked[], weighGains: boolean): Ranking {
  const energies = candidates.some(({ energy }) => energy !== null);
  const weighed = candidates.some(({ features }) => features.likelihoodGain !== undefined);
  const gainOf = ({ features }: Ranked): number => (weighGains ? weighedGain(features.likelihoodGain) : 0);
  const cost = (one: Ranked): number => (energies ? (one.energy ?? Number.POSITIVE_INFINITY) - gainOf(one) : expertCost(one));
  const byRank = (a: Ranked, b: Ranked): number => a.candidate.rank - b.candidate.rank;
  const ranked = candidates.toSorted((a, b) => (energies || weighed ? byCost(cost(a), cost(b)) : 0) || byRank(a, b));
  const [first, second] = ranked;
  const gap = first === undefined || second === undefined ? null : cost(second) - cost(first);
  return { ranked, margin: gap === null || !Number.isFinite(gap) ? null : Math.max(0, gap) };
}

/** −ln of the expert's share, with the likelihood in it: both are nats, so their gap is a margin. */
function expertCost({ candidate, features }: Ranked): number {
  return -weighedShare(candidate.score, features.likelihoodGain);
}

/** Infinities differ by nothing. */
const byCost = (a: number, b: number): number => (a === b ? 0 : a - b);
