import {
  type Features,
  energyHeads,
  type EnergyHead,
  type HeadCalibration,
  maxKnots,
  type ModelCalibration,
} from '@agentfleet/protocol/inference';
import { before, buckets, executed, fnv, knownBefore } from './encode.ts';
import { createHash } from 'node:crypto';

/** Buckets of hashed words. */
export const wordBuckets = 8192;
/** UTF-16 units that the words are taken from: what stands behind them is read in a window of its own. */
export const wordChars = 8192;

/** Linear energy over words of a command or a file and features known before the act: for heads with little data. */
export interface WordModel {
  /** `wordBuckets` signed bytes, base64. */
  readonly weights: string;
  /** Value of the step ±1. */
  readonly scale: number;
  /** Per feature of `before`, by name: weight of its value, and of its being there. */
  readonly dense: Readonly<Record<string, readonly [value: number, presence: number]>>;
  readonly offset: number;
  /** Divisor of the energy. */
  readonly temperature: number;
}

/** Buckets that a text fills; each counts once, all of them together have length 1. */
export function wordsOf(text: string): Int32Array {
  const found = new Set<number>();
  let last = '^';
  for (const word of text.slice(0, wordChars).match(/[A-Za-z_][\w]*|-{1,2}[A-Za-z][\w-]*|\/[\w.-]*|\d+|[|&;<>$]+|[^\s\w]/g) ?? []) {
    const token = /^\d/.test(word) ? '0' : word.toLowerCase();
    found.add(fnv(token) % wordBuckets);
    found.add(fnv(`${last} ${token}`) % wordBuckets);
    last = token;
  }
  return Int32Array.from(found).sort();
}

/** Energy of a text with its features. */
export function wordEnergy(model: WordModel, table: Int8Array, text: string, features: Features): number {
  const words = wordsOf(text);
  const norm = Math.sqrt(words.length) || 1;
  let energy = model.offset;
  for (const at of words) energy += (model.scale * (table[at] ?? 0)) / norm;
  for (const { name, scale } of before) {
    const value = features[name];
    const [slope, presence] = model.dense[name] ?? [0, 0];
    if (value !== undefined) energy += slope * Math.max(-5, Math.min(5, scale(value))) + presence;
  }
  return energy / model.temperature;
}

/** The table of a model. @throws Error when it has another size */
export function tableOf({ weights }: WordModel): Int8Array {
  const table = new Int8Array(Buffer.from(weights, 'base64'));
  if (table.length !== wordBuckets) throw new Error(`its words have ${table.length} weights, not ${wordBuckets}`);
  return table;
}

/** Format of the weights. */
export const energyFormat = 'agentfleet.dev/energy/v1';

/** Knots of a non-decreasing step-free map from −energy to probability; between knots it is linear. */
export interface Calibration {
  /** Ascending. */
  readonly energies: readonly number[];
  /** Never ascending: P(success) at each of the energies. */
  readonly probabilities: readonly number[];
}

/** E_model: one hidden layer over n-grams and features known before the act. */
export interface ContentModel {
  readonly hidden: number;
  /** By bucket, `hidden` numbers each. */
  readonly grams: readonly number[];
  readonly mean: readonly number[];
  readonly deviation: readonly number[];
  /** Two per feature of `before` (value, presence), `hidden` numbers each. */
  readonly dense: readonly number[];
  readonly bias: readonly number[];
  readonly out: readonly number[];
  readonly skip: readonly number[];
  readonly offset: number;
}

export interface EnergyHeadFile {
  /** Null: E_model is the prior of the other members. */
  readonly content: ContentModel | null;
  /** Instead of `content`, for heads with little data; absent: none. */
  readonly words?: WordModel | null;
  /** Prior weights of the features known before the act, by name; used where `content` is null. */
  readonly prior: Readonly<Record<string, number>>;
  /** Weight of each term of f(x), by name. */
  readonly executed: Readonly<Record<string, number>>;
  /** Added to w·f(x) of an act that ran. */
  readonly ran: number;
  /** Weights under which the energies of the calibration are meant. */
  readonly lambdas: { readonly lambda: number; readonly head: number };
  readonly calibration: { readonly before: Calibration | null; readonly after: Calibration | null };
  /** Quality of the calibration before the act, on acts that neither fit nor calibration saw; absent: not measured. */
  readonly worth?: HeadWorth | null;
  readonly about: string;
}

export type HeadWorth = Pick<HeadCalibration, 'samples' | 'auc' | 'ece' | 'brier' | 'vetoBelowProbability' | 'warnBelowProbability'>;

export interface EnergyFile {
  readonly format: typeof energyFormat;
  /** Models of older feature sets are read, too: unknown features have no weight. */
  readonly featureSet: keyof typeof knownBefore;
  /** RFC 3339; absent: nothing is informed about the calibration. */
  readonly fittedAt?: string | null;
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
  readonly heads: Readonly<Record<EnergyHead, EnergyHeadFile>>;
}

const cure = 'make it again with `node hack/bootstrap.mjs train/main.ts`, or take the one of the release';

/** @throws Error when the bytes are no weights for this code */
export function readEnergyFile(bytes: Buffer): { readonly file: EnergyFile; readonly digest: string } {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  let file: EnergyFile;
  try {
    file = JSON.parse(bytes.toString('utf8')) as EnergyFile;
  } catch (error) {
    throw new Error(`weights of the energy model: not JSON; ${cure}`, { cause: error });
  }
  const wrong = misfit(file);
  if (wrong !== null) throw new Error(`weights of the energy model: ${wrong}; ${cure}`);
  return { file: padded(file), digest };
}

/** Weights of older features with zeros for those that they do not know. */
function padded(file: EnergyFile): EnergyFile {
  const heads = Object.entries(file.heads).map(([name, head]) => {
    const { content } = head;
    if (content === null || content.mean.length === before.length) return [name, head];
    const more = before.length - content.mean.length;
    const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
    const wider: ContentModel = {
      ...content,
      mean: [...content.mean, ...zeros(more)],
      deviation: [...content.deviation, ...zeros(more).map(() => 1)],
      dense: [...content.dense, ...zeros(2 * more * content.hidden)],
      skip: [...content.skip, ...zeros(2 * more)],
    };
    return [name, { ...head, content: wider }];
  });
  return { ...file, heads: Object.fromEntries(heads) as EnergyFile['heads'] };
}

function misfit(file: EnergyFile): string | null {
  const { format, featureSet: features }: { readonly format: unknown; readonly featureSet: unknown } = file;
  if (format !== energyFormat) return `format is ${String(format)}, not ${energyFormat}`;
  if (typeof features !== 'string' || !Object.hasOwn(knownBefore, features))
    return `featureSet is ${String(features)}, none of ${Object.keys(knownBefore).join(', ')}`;
  if (file.fittedAt !== undefined && file.fittedAt !== null && Number.isNaN(Date.parse(file.fittedAt))) return 'fittedAt is no time';
  for (const name of energyHeads) {
    const head = file.heads[name] as EnergyHeadFile | undefined;
    if (head === undefined) return `head ${name} is missing`;
    const wrong = misfitOfHead(head);
    if (wrong !== null) return `head ${name}: ${wrong}`;
  }
  return null;
}

function misfitOfHead({ content, words, executed: weights, calibration, worth }: EnergyHeadFile): string | null {
  for (const { name, sign } of executed) {
    const weight = weights[name] ?? 0;
    if (!Number.isFinite(weight) || weight * sign < 0) return `the weight of ${name} has the wrong sign`;
  }
  for (const curve of [calibration.before, calibration.after])
    if (curve !== null && !falls(curve)) return 'its calibration must fall with the energy';
  const numbers = worth === undefined || worth === null ? [] : Object.values(worth);
  if (!numbers.every((value) => Number.isFinite(value))) return 'what it is worth is not given in finite numbers';
  if (words !== undefined && words !== null) return misfitOfWords(words);
  if (content === null) return null;
  const { hidden } = content;
  const known = Object.values(knownBefore).find((count) => count === content.mean.length) ?? before.length;
  const sizes: readonly (readonly [readonly number[], number])[] = [
    [content.grams, buckets * hidden],
    [content.dense, known * 2 * hidden],
    [content.skip, known * 2],
    [content.mean, known],
    [content.deviation, known],
    [content.bias, hidden],
    [content.out, hidden],
  ];
  const fits = sizes.every(([values, size]) => values.length === size && values.every(Number.isFinite));
  return fits && Number.isFinite(content.offset) ? null : 'its content model has other sizes or numbers that are not finite';
}

function misfitOfWords(words: WordModel): string | null {
  try {
    tableOf(words);
  } catch (error) {
    return (error as Error).message;
  }
  const numbers = [words.scale, words.offset, words.temperature, ...Object.values(words.dense).flat()];
  return numbers.every((value) => Number.isFinite(value)) && words.temperature > 0 ? null : 'its words have numbers that are not finite';
}

function falls({ energies, probabilities }: Calibration): boolean {
  const rises = energies.every((energy, at) => at === 0 || energy > (energies[at - 1] ?? Infinity));
  const drops = probabilities.every((p, at) => p >= 0 && p <= 1 && (at === 0 || p <= (probabilities[at - 1] ?? 0)));
  return energies.length > 0 && energies.length === probabilities.length && rises && drops;
}

/** So many points of a curve, the first and the last among them. */
export function knotsOf({ energies, probabilities }: Calibration): HeadCalibration['knots'] {
  const count = Math.min(maxKnots, energies.length);
  const at = Array.from({ length: count }, (_, step) => Math.round((step * (energies.length - 1)) / Math.max(1, count - 1)));
  return at.map((place) => ({ energy: energies[place] as number, probability: probabilities[place] as number }));
}

/** Returns the calibration of the weights as a server reports it; null when they lack the time of the fit or its quality. */
export function calibrationReported({ featureSet, fittedAt, heads }: EnergyFile): ModelCalibration | null {
  const calibrations = energyHeads.flatMap((name): readonly HeadCalibration[] => {
    const { worth, calibration } = heads[name];
    if (worth === undefined || worth === null || calibration.before === null) return [];
    return [{ name, ...worth, knots: knotsOf(calibration.before) }];
  });
  if (fittedAt === undefined || fittedAt === null || calibrations.length === 0) return null;
  const curves = energyHeads.map((name) => heads[name].calibration);
  const digest = createHash('sha256')
    .update(JSON.stringify({ featureSet, fittedAt, reported: calibrations, curves }))
    .digest('hex');
  return { digest: `sha256:${digest}`, featureSet, fittedAt, heads: calibrations };
}
