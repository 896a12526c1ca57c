import type { ActInQuestion, SecondOpinion } from '../attempt/mind.ts';

/** What one part says about an act: nothing when the pool has none, why it is silent, or its numbers. */
export type Voice<T> = T | { readonly silent: string } | null;

/** All that gate 2 decides by. */
export interface Voices {
  readonly policy: Voice<{ readonly unsafe: number; readonly label: string }>;
  /** Recorded, and not counted: its risk is of the state of the work, which is the same whatever the act. Null: in shadow. */
  readonly planner: Voice<{ readonly risk: number | null }>;
  /** pSuccess null: not calibrated, no veto. */
  readonly verifier: Voice<{ readonly energy: number; readonly pSuccess: number | null }>;
  readonly whenUnavailable: 'FailClosed' | 'Degrade';
  readonly vetoBelowProbability: number;
  /** Below it Policy alone has to be as sure as where nobody measures energy. */
  readonly warnBelowProbability: number;
}

/**
 * An act that is at least so likely unsafe is refused. The classifier's own threshold for 5 % false alarms is higher; why
 * this one is kept stands in docs/reference/gates.md.
 */
const unsafeFrom = 0.5;
/** Of an act that no rail objects to: the classifier's threshold for 5 % false alarms, as far more of these are harmless. */
const unsafeFromUnobjected = 0.83;
/** A Verifier that has heard Policy and still believes so much in an act decides about it. */
const harmlessFrom = 0.5;
/** Where nobody measures energy, or the energy warns, Policy has to be surer. */
const unsafeFromAlone = 0.2;

const isSilent = (voice: Voice<object>): voice is { readonly silent: string } => voice !== null && 'silent' in voice;
const said = <T extends object>(voice: Voice<T>): T | null => (voice === null || isSilent(voice) ? null : voice);

type RailsWord = Pick<ActInQuestion['rails'], 'decision' | 'risk'>;

/** Whether gate 1 asks for a second opinion; an act that it lets pass and does not vouch for is scored, and passes where nobody scores. */
export const objected = ({ decision }: Pick<RailsWord, 'decision'>): boolean => decision !== 'Allow' && decision !== 'NeedsSnapshot';

/** Gate 2; the tables are docs/reference/gates.md. Pure. */
export function decide(voices: Voices, rails: RailsWord): SecondOpinion {
  const policy = said(voices.policy);
  const planner = said(voices.planner);
  const verifier = said(voices.verifier);
  const why = objected(rails)
    ? (veto(voices, unsafeFrom) ?? silence(voices) ?? lacking(voices, rails.risk))
    : (veto(believed(voices), unsafeFromUnobjected) ?? unheard(voices));
  return {
    allowed: why === null,
    why: why ?? '',
    unsafe: policy?.unsafe ?? null,
    risk: planner?.risk ?? null,
    energy: verifier?.energy ?? null,
    pSuccess: verifier?.pSuccess ?? null,
  };
}

/**
 * Of an act that no rail objects to: what Policy says is one of the features that a calibrated Verifier weighs with all others, so that a
 * Verifier that holds the act for harmless has heard Policy already. One without a calibration outvotes nobody.
 */
function believed(voices: Voices): Voices {
  const pSuccess = said(voices.verifier)?.pSuccess ?? null;
  const holds = pSuccess !== null && pSuccess >= Math.max(harmlessFrom, voices.warnBelowProbability);
  return holds ? { ...voices, policy: null } : voices;
}

/** A part that says no is enough. */
function veto(voices: Voices, unsafeBound: number): string | null {
  const { vetoBelowProbability } = voices;
  const policy = said(voices.policy);
  if (policy !== null && policy.unsafe >= unsafeBound)
    return `Policy: unsafe ${policy.unsafe.toFixed(3)} (${policy.label}) is not below ${unsafeBound}`;
  const pSuccess = said(voices.verifier)?.pSuccess ?? null;
  if (pSuccess !== null && pSuccess < vetoBelowProbability)
    return `Verifier: pSuccess ${pSuccess.toFixed(3)} is below ${vetoBelowProbability}`;
  return pSuccess === null ? null : warning(voices, pSuccess);
}

/** An act that the Verifier half believes in passes only when Policy is sure of it. */
function warning({ policy, warnBelowProbability }: Voices, pSuccess: number): string | null {
  const judged = said(policy);
  if (pSuccess >= warnBelowProbability || (judged !== null && isSure(judged))) return null;
  const words =
    judged === null
      ? 'and no Policy answers'
      : `and Policy's unsafe ${judged.unsafe.toFixed(3)} (${judged.label}) is not below ${unsafeFromAlone}`;
  return `Verifier: pSuccess ${pSuccess.toFixed(3)} is below ${warnBelowProbability}, ${words}`;
}

const isSure = ({ unsafe, label }: { readonly unsafe: number; readonly label: string }): boolean =>
  label === 'Benign' && unsafe < unsafeFromAlone;

/** A part that was asked and is silent closes the gate, unless the EnergyModel says Degrade. */
function silence({ policy, verifier, whenUnavailable }: Voices): string | null {
  if (whenUnavailable === 'Degrade') return null;
  for (const [name, voice] of [
    ['Policy', policy],
    ['Verifier', verifier],
  ] as const)
    if (isSilent(voice)) return `${name} gave no answer (${voice.silent}) and whenUnavailable is FailClosed`;
  return null;
}

/** One who can judge an act has to be heard where a pool has such parts and closes without them. */
function unheard({ policy, verifier, whenUnavailable }: Voices): string | null {
  const asked = [policy, verifier].filter((voice) => voice !== null);
  const silent = asked.find(isSilent);
  if (whenUnavailable === 'Degrade' || silent === undefined || !asked.every(isSilent)) return null;
  return `nobody vouches for it, nobody answered (${silent.silent}) and whenUnavailable is FailClosed`;
}

/** What has to be known at least. */
function lacking({ policy, verifier, whenUnavailable }: Voices, risk: ActInQuestion['rails']['risk']): string | null {
  const judged = said(policy);
  const scored = said(verifier);
  if (verifier === null) {
    if (judged === null) return 'the pool has neither a Policy expert nor a verifier that could judge it';
    if (!isSure(judged))
      return `Policy: unsafe ${judged.unsafe.toFixed(3)} (${judged.label}) is not below ${unsafeFromAlone}, which a pool without verifier asks for`;
    return lasting.has(risk) ? `the pool has no verifier, and what the act does (${risk}) cannot be put back` : null;
  }
  if (policy === null && whenUnavailable === 'FailClosed') return 'the pool has no Policy expert and whenUnavailable is FailClosed';
  const opinions = judged !== null || (scored !== null && scored.pSuccess !== null);
  if (opinions) return null;
  return restorable.has(risk) ? null : `nobody could judge it, and what the act does (${risk}) is not known to be put back by a restore`;
}

const lasting: ReadonlySet<string> = new Set(['External', 'Destructive']);
const restorable: ReadonlySet<string> = new Set(['ReadOnly', 'Reversible']);
