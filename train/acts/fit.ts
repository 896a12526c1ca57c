import { before } from '../../inference-image/src/models/energy/encode.ts';
import { wordBuckets, wordsOf, type WordModel } from '../../inference-image/src/models/energy/file.ts';
import type { Random } from '../numeric/random.ts';
import type { LabelledAct } from './data.ts';

export interface ActFit {
  readonly epochs: number;
  /** Features that are given to the model. */
  readonly dense: boolean;
  /** Whether it reads the words of the text. */
  readonly words: boolean;
}

export const chosen: ActFit = { epochs: 60, dense: true, words: true };

const rate = 0.1;
/** Pull towards 0. */
const decay = 1e-3;
/** Share of itself that the teacher, a running mean of the weights, keeps at each step. */
const teacherShare = 0.999;
/** Weight of an act of the pack beside that of a whole template. */
const packWeight = 2;
const weightOf = ({ source, weight }: LabelledAct): number => (source === 'Pack' ? packWeight : weight);

/** Features that never make an act look better, however much of them there is; and those that never make it look worse. */
const harms: ReadonlySet<string> = new Set(
  'policyUnsafe railRank forbidden outsidePaths privileges network secrets hiddenCode startup records forced changingCommands unknownCommands outsideTargets wholeTargets uncovered outsideReads dynamicWords objections selfRunning testSenses brokenNodes apiMismatch'.split(
    ' ',
  ),
);
const precautions: ReadonlySet<string> = new Set(['guards', 'backups', 'dryRunShare', 'regenerable']);
/** Sign that the weight of a feature's value may have; 0: any. */
const signs = before.map(({ name }) => (harms.has(name) ? 1 : precautions.has(name) ? -1 : 0));

interface Row {
  readonly words: Int32Array;
  readonly dense: readonly number[];
  readonly good: boolean;
  readonly weight: number;
}

const denseCount = 2 * before.length;
const size = wordBuckets + denseCount + 1;

function rowOf(act: LabelledAct, options: ActFit, stratum: number): Row {
  const dense = before.flatMap(({ name, scale }) => {
    const value = options.dense ? act.features[name] : undefined;
    return value === undefined ? [0, 0] : [Math.max(-5, Math.min(5, scale(value))), 1];
  });
  const words = options.words ? wordsOf(act.text) : new Int32Array();
  return { words, dense, good: act.good, weight: stratum * weightOf(act) };
}

/** Weights by class, so that what is good and what violates the policy weigh the same in all, and each kind of harm as the others. */
function strata(acts: readonly LabelledAct[]): ReadonlyMap<string, number> {
  const masses = new Map<string, number>();
  for (const act of acts) masses.set(act.label, (masses.get(act.label) ?? 0) + weightOf(act));
  const all = [...masses.values()].reduce((sum, mass) => sum + mass, 0);
  const harms = masses.size - 1;
  return new Map([...masses].map(([label, mass]) => [label, (label === 'Benign' ? 0.5 : 0.5 / harms) * (all / mass)]));
}

/** Energy of a row by the words of it that are seen: lower is better. */
function energyOf(weights: Float64Array, words: Int32Array, norm: number, dense: readonly number[]): number {
  let energy = weights[size - 1] as number;
  for (let at = 0; at < words.length; at += 1) energy += (weights[words[at] as number] as number) / norm;
  for (let at = 0; at < dense.length; at += 1) energy += (weights[wordBuckets + at] as number) * (dense[at] as number);
  return energy;
}

/**
 * Logistic noise-contrastive loss over strata by AdaGrad (J. Duchi et al., 2011). What is kept is the teacher, a running mean of the
 * weights, which changes less with the order of the acts.
 */
export function fitActs(acts: readonly LabelledAct[], options: ActFit, random: Random): WordModel {
  const byLabel = strata(acts);
  const rows = acts.map((act) => rowOf(act, options, byLabel.get(act.label) ?? 1));
  const mean = rows.reduce((sum, { weight }) => sum + weight, 0) / rows.length;
  const weights = new Float64Array(size);
  const teacher = new Float64Array(size);
  const squares = new Float64Array(size).fill(1e-3);
  const step = (at: number, gradient: number): void => {
    const pulled = gradient + decay * (weights[at] as number);
    squares[at] = (squares[at] as number) + pulled * pulled;
    weights[at] = (weights[at] as number) - (rate * pulled) / Math.sqrt(squares[at]);
  };
  for (let epoch = 0; epoch < options.epochs; epoch += 1) {
    for (const row of random.shuffle(rows)) {
      const salt = random.below(1 << 20);
      // Words are left out now and then, so that no single one decides.
      const seen = row.words.filter((at) => (Math.imul(at + salt, 0x9e3779b1) >>> 0) / 2 ** 32 >= 0.25);
      const norm = Math.sqrt(row.words.length) || 1;
      const energy = energyOf(weights, seen, norm, row.dense);
      const slope = (row.weight / mean) * ((row.good ? 1 : 0) - 1 / (1 + Math.exp(energy)));
      for (let at = 0; at < seen.length; at += 1) step(seen[at] as number, slope / norm);
      for (let at = 0; at < row.dense.length; at += 1) {
        const input = row.dense[at] as number;
        if (input !== 0) step(wordBuckets + at, slope * input);
      }
      step(size - 1, slope);
      // After each step, so that the mean of the weights has the signs as well.
      for (let at = 0; at < signs.length; at += 1) {
        const sign = signs[at] as number;
        const value = wordBuckets + 2 * at;
        if (sign !== 0 && (weights[value] as number) * sign < 0) weights[value] = 0;
      }
    }
    // The teacher follows by the steps of a whole epoch at once.
    const keep = epoch === 0 ? 0 : teacherShare ** rows.length;
    for (let at = 0; at < size; at += 1) teacher[at] = keep * (teacher[at] as number) + (1 - keep) * (weights[at] as number);
  }
  return modelOf(teacher);
}

function modelOf(weights: Float64Array): WordModel {
  const table = weights.subarray(0, wordBuckets);
  const scale = Number((Math.max(1e-9, ...table.map(Math.abs)) / 127).toPrecision(6));
  const bytes = Int8Array.from(table, (weight) => Math.round(weight / scale));
  const short = (value: number): number => Number(value.toPrecision(5));
  const dense = before.flatMap(({ name }, at) => {
    const pair = [short(weights[wordBuckets + 2 * at] as number), short(weights[wordBuckets + 2 * at + 1] as number)] as const;
    return pair.some((weight) => weight !== 0) ? [[name, pair] as const] : [];
  });
  return {
    weights: Buffer.from(bytes.buffer).toString('base64'),
    scale,
    dense: Object.fromEntries(dense),
    offset: short(weights[size - 1] as number),
    temperature: 1,
  };
}

/** Temperature under which the energies of acts that were not fitted on are likeliest; golden section over its logarithm. */
export function temperatureOf(scored: readonly { readonly energy: number; readonly good: boolean }[]): number {
  const loss = (log: number): number =>
    scored.reduce((sum, { energy, good }) => sum + Math.log1p(Math.exp((good ? 1 : -1) * energy * Math.exp(-log))), 0);
  let [from, to] = [-3, 3];
  for (let step = 0; step < 40; step += 1) {
    const [a, b] = [from + 0.382 * (to - from), from + 0.618 * (to - from)];
    if (loss(a) < loss(b)) to = b;
    else from = a;
  }
  return Number(Math.exp((from + to) / 2).toPrecision(4));
}
