import type { EnergyHead, EnergyScore, Features, ModelCalibration, ScoreItem } from '@agentfleet/protocol/inference';
import { windowsOf } from '@agentfleet/protocol/text';
import { before, executed, gramChars, gramsOf, ran } from './encode.ts';
import {
  calibrationReported,
  tableOf,
  wordChars,
  wordEnergy,
  type WordModel,
  readEnergyFile,
  type Calibration,
  type ContentModel,
  type EnergyHeadFile,
} from './file.ts';

/** λ of the model and of each head's features: E(x) = lambda·E_model(x) + heads[head]·(w·f(x)). */
export interface EnergyWeights {
  readonly lambda: number;
  readonly heads: Readonly<Record<EnergyHead, number>>;
}

export interface EnergyScorer {
  /** `sha256:` of the file. */
  readonly digest: string;
  /** Description of the weights and their measured quality, for people. */
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
  /** Calibration in `/v1/info`; null: nothing was measured. */
  readonly calibration: ModelCalibration | null;
  /** Pure: depends on the item and the weights only. Lower energy is better. */
  score(item: ScoreItem, weights: EnergyWeights): Omit<EnergyScore, 'id'>;
  /** Features known before the act that a head weighs. */
  reads(head: EnergyHead): readonly (keyof Features)[];
}

/**
 * The energy model over text and features.
 *
 * @throws Error when the file does not fit this code
 * @example
 * loadEnergyModel(bytes).score(item, { lambda: 1, heads: { Code: 0.7, Shell: 1.2, Editor: 0.6 } }).energy
 */
export function loadEnergyModel(bytes: Buffer): EnergyScorer {
  const { file, digest } = readEnergyFile(bytes);
  return {
    digest,
    about: file.about,
    calibration: calibrationReported(file),
    reads: (head) => readsOf(file.heads[head]),
    score: (item, { lambda, heads }) => {
      const head = file.heads[item.head];
      const content = contentEnergy(head, item);
      const measured = executedEnergy(head, item.features);
      const model = lambda * content;
      const features = heads[item.head] * measured;
      // A probability is about the act, not about the weights that rank: it is read off the energy that was calibrated.
      const calibrated = head.lambdas.lambda * content + head.lambdas.head * measured;
      const curve = ran(item.features) ? head.calibration.after : head.calibration.before;
      return { energy: model + features, model, features, pSuccess: curve === null ? null : probability(curve, calibrated) };
    },
  };
}

function readsOf({ content, words, prior }: EnergyHeadFile): readonly (keyof Features)[] {
  if (words) return before.filter(({ name }) => words.dense[name]?.some((weight) => weight !== 0)).map(({ name }) => name);
  const weighs = (row: number): boolean => {
    if (content === null) return false;
    const own = content.dense.slice(row * content.hidden, (row + 1) * content.hidden);
    return (content.skip[row] ?? 0) !== 0 || own.some((weight) => weight !== 0);
  };
  // A feature has two rows: its value and whether it is there.
  const used = before.filter(({ name }, at) => (content === null ? (prior[name] ?? 0) !== 0 : weighs(2 * at) || weighs(2 * at + 1)));
  return used.map(({ name }) => name);
}

/** UTF-16 units that two windows share, and of the first line that each begins with. */
const [overlap, maxFirst] = [512, 256];

/** Tables of models that were read: decoding one takes longer than a score. */
const tables = new WeakMap<WordModel, Int8Array>();

function tableFor(words: WordModel): Int8Array {
  const known = tables.get(words) ?? tableOf(words);
  tables.set(words, known);
  return known;
}

/**
 * E_model(x). A text that is longer than what the head was fitted on is read in windows that overlap, each with the text's first line
 * (a path, or the beginning of a command), and the worst one decides: nothing stands outside of what is read.
 */
export function contentEnergy(head: EnergyHeadFile, item: Pick<ScoreItem, 'text' | 'operator' | 'features'>): number {
  const { content, words } = head;
  const size = words ? wordChars : gramChars;
  const first = item.text.length <= size ? '' : `${item.text.split('\n', 1)[0]?.slice(0, maxFirst) ?? ''}\n`;
  const energyOf = (text: string): number => {
    if (words) return wordEnergy(words, tableFor(words), text, item.features);
    return content === null ? priorEnergy(head, item.features) : gramEnergy(content, { ...item, text });
  };
  return Math.max(...windowsOf(item.text, size - first.length, overlap).map((text, at) => energyOf(at === 0 ? text : `${first}${text}`)));
}

function gramEnergy(content: ContentModel, item: Pick<ScoreItem, 'text' | 'operator' | 'features'>): number {
  const { hidden, grams, dense, bias, out, skip, offset } = content;
  const sums = Float64Array.from(bias);
  const { at, value } = gramsOf(item);
  for (let i = 0; i < at.length; i += 1) addRow(sums, grams, (at[i] as number) * hidden, value[i] as number);
  const inputs = denseInputs(content, item.features);
  let energy = offset;
  for (const [row, input] of inputs.entries()) {
    addRow(sums, dense, row * hidden, input);
    energy += (skip[row] ?? 0) * input;
  }
  for (let i = 0; i < hidden; i += 1) energy += (out[i] ?? 0) * Math.tanh(sums[i] as number);
  return energy;
}

function addRow(sums: Float64Array, matrix: readonly number[], from: number, factor: number): void {
  for (let i = 0; i < sums.length; i += 1) sums[i] = (sums[i] as number) + factor * (matrix[from + i] as number);
}

/** Returns value and presence of each feature known before the act; a missing one has the mean. */
export function denseInputs({ mean, deviation }: Pick<ContentModel, 'mean' | 'deviation'>, features: Features): number[] {
  return before.flatMap(({ name, scale }, at) => {
    const value = features[name];
    if (value === undefined) return [0, 0];
    const standard = (scale(value) - (mean[at] ?? 0)) / (deviation[at] ?? 1);
    return [Math.max(-5, Math.min(5, standard)), 1];
  });
}

function priorEnergy({ prior }: EnergyHeadFile, features: Features): number {
  return before.reduce((sum, { name, scale }) => {
    const value = features[name];
    return value === undefined ? sum : sum + (prior[name] ?? 0) * scale(value);
  }, prior['constant'] ?? 0);
}

/** w·f(x); 0 for an act that did not run. */
export function executedEnergy(head: Pick<EnergyHeadFile, 'executed' | 'ran'>, features: Features): number {
  if (!ran(features)) return 0;
  return executed.reduce((sum, term) => sum + (head.executed[term.name] ?? 0) * (term.of(features) ?? 0), head.ran);
}

/** P(success) of an energy: linear between knots, flat outside. */
export function probability({ energies, probabilities }: Calibration, energy: number): number {
  const next = energies.findIndex((knot) => knot >= energy);
  if (next === -1) return probabilities.at(-1) as number;
  if (next === 0) return probabilities[0] as number;
  const [e0, e1] = [energies[next - 1] as number, energies[next] as number];
  const [p0, p1] = [probabilities[next - 1] as number, probabilities[next] as number];
  return p0 + ((p1 - p0) * (energy - e0)) / (e1 - e0);
}
