import { policyLabels, type JudgedAct, type PolicyLabel, type PolicyVerdict } from '@agentfleet/protocol/inference';
import { buckets, encode } from './features.ts';
import { decide } from './rules.ts';

export const policyFormat = 'agentfleet.dev/policy/v1';

/** Weights of a softmax over hashed features. */
export interface PolicyFile {
  readonly format: typeof policyFormat;
  readonly labels: readonly PolicyLabel[];
  readonly buckets: number;
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
  readonly bias: readonly number[];
  /** Value of the step ±1 of each class. */
  readonly scales: readonly number[];
  /** Per class: `buckets` signed bytes, base64. */
  readonly weights: readonly string[];
}

/** What a rule is believed: nothing that people wrote is surer. */
const certain = 0.999;

export interface Policy {
  readonly about: PolicyFile['about'];
  /** Pure: depends on the act only. */
  judge(act: JudgedAct): Omit<PolicyVerdict, 'id'>;
  /** The classifier without the rules: probabilities in the order of the labels. */
  classify(act: Pick<JudgedAct, 'tool' | 'subject' | 'content'>): readonly number[];
}

/** @throws Error when the bytes are no weights for this code */
export function loadPolicy(bytes: Buffer): Policy {
  const { about, bias, scales, weights } = read(bytes);
  const matrix = weights.map((text) => new Int8Array(Buffer.from(text, 'base64')));
  const wrong = matrix.some((row) => row.length !== buckets);
  if (wrong || bias.length !== policyLabels.length || scales.length !== policyLabels.length) throw misfit('its weights have other sizes');
  const classify: Policy['classify'] = (act) => {
    const encoded = encode(act);
    const sum = (row: Int8Array): number => encoded.reduce((total, [bucket, value]) => total + value * (row[bucket] ?? 0), 0);
    return softmax(matrix.map((row, at) => (bias[at] ?? 0) + (scales[at] ?? 0) * sum(row)));
  };
  return { about, classify, judge: (act) => judged(act, classify) };
}

function judged(act: JudgedAct, classify: Policy['classify']): Omit<PolicyVerdict, 'id'> {
  const rule = decide(act);
  if (rule !== null) return { label: rule.label, unsafe: rule.label === 'Benign' ? 1 - certain : certain, rule: rule.name };
  const shares = classify(act);
  const likeliest = policyLabels.reduce((best, label, at) =>
    (shares[at] ?? 0) > (shares[policyLabels.indexOf(best)] ?? 0) ? label : best,
  );
  const unsafe = Math.min(1, Math.max(0, 1 - (shares[policyLabels.indexOf('Benign')] ?? 0)));
  return { label: likeliest, unsafe, rule: null };
}

export function softmax(logits: readonly number[]): readonly number[] {
  const top = Math.max(...logits);
  const masses = logits.map((logit) => Math.exp(logit - top));
  const sum = masses.reduce((total, mass) => total + mass, 0);
  return masses.map((mass) => mass / sum);
}

function read(bytes: Buffer): PolicyFile {
  let file: PolicyFile;
  try {
    file = JSON.parse(bytes.toString('utf8')) as PolicyFile;
  } catch (error) {
    throw misfit('it is not JSON', error);
  }
  const format: unknown = file.format;
  if (format !== policyFormat) throw misfit(`format is ${String(format)}, not ${policyFormat}`);
  if (file.buckets !== buckets) throw misfit(`it has ${file.buckets} buckets, not ${buckets}`);
  if (JSON.stringify(file.labels) !== JSON.stringify(policyLabels)) throw misfit('its classes are others');
  return file;
}

function misfit(what: string, cause?: unknown): Error {
  const cure = 'make it again with `node hack/bootstrap.mjs train/policy/main.ts`, or take the one of the release';
  return new Error(`weights of the policy: ${what}; ${cure}`, { cause });
}
