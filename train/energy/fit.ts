import { before, buckets, executed } from '../../inference-image/src/models/energy/encode.ts';
import type { ContentModel, EnergyHeadFile } from '../../inference-image/src/models/energy/file.ts';
import { Adam } from '../numeric/adam.ts';
import { Random } from '../numeric/random.ts';
import { encode, spreadOf, type Encoded, type Group } from './items.ts';

const hidden = 12;
const denseCount = before.length * 2;

interface FitOptions {
  readonly seed: number;
  readonly epochs: number;
  /** λ of the head: how much f(x) counts beside E_model. */
  readonly head: number;
}

const rate = 0.003;
/** Weight of a right candidate in the logistic loss; wrong ones are many. */
const rightWeight = 8;

type Parameters = Readonly<Record<'grams' | 'dense' | 'bias' | 'out' | 'skip' | 'offset' | 'executed' | 'ran', Float32Array>>;

const sizes: Readonly<Record<keyof Parameters, number>> = {
  grams: buckets * hidden,
  dense: denseCount * hidden,
  bias: hidden,
  out: hidden,
  skip: denseCount,
  offset: 1,
  executed: executed.length,
  ran: 1,
};

/**
 * Fits the head: per candidate logistic loss (noise-contrastive: right against wrong), per state the loss of the ranking,
 * −ln Σ_right e^−E / Σ_all e^−E, both on E_model alone and on the whole energy, so that it ranks before the act and after it.
 */
export function fitEnergy(groups: readonly Group[], options: FitOptions): Omit<EnergyHeadFile, 'calibration' | 'about'> {
  const random = new Random(options.seed);
  const spread = spreadOf(groups.flatMap(({ items }) => items));
  const encoded = groups.map(({ items }) => items.map((item) => encode(item, spread)));
  const weights = initial(random, spread.varies);
  const gradients = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, new Float32Array(size)])) as Parameters;
  const adam = new Adam(rate, 0.01);
  // The few weights of what was measured have a long way to go.
  const quick = new Adam(10 * rate);
  for (let epoch = 0; epoch < options.epochs; epoch += 1) {
    for (const [at, group] of random.shuffle(encoded).entries()) {
      learn(group, weights, gradients, options, random);
      if (at % 4 !== 3) continue;
      const { executed, ran, ...content } = weights;
      adam.step(content, gradients, 1 - epoch / options.epochs);
      quick.step({ executed, ran }, gradients, 1 - epoch / options.epochs);
      keepSigns(weights.executed);
    }
  }
  return fileOf(weights, spread, options.head);
}

function initial(random: Random, varies: readonly boolean[]): Parameters {
  const weights = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, new Float32Array(size)])) as Parameters;
  const fill = (name: keyof Parameters, spread: number): void => {
    for (let i = 0; i < weights[name].length; i += 1) weights[name][i] = spread * random.normal();
  };
  fill('grams', 0.3);
  fill('dense', 0.2);
  fill('out', 0.3);
  // Features that never vary in the data must not count later with a random weight.
  for (const [at, does] of varies.entries()) if (!does) weights.dense.fill(0, at * 2 * hidden, (at + 1) * 2 * hidden);
  return weights;
}

function keepSigns(weights: Float32Array): void {
  for (const [at, { sign }] of executed.entries()) if ((weights[at] as number) * sign < 0) weights[at] = 0;
}

interface Forward {
  readonly one: Encoded;
  readonly dense: readonly number[];
  readonly units: Float32Array;
  readonly content: number;
  readonly total: number;
}

function forward(one: Encoded, weights: Parameters, head: number, random: Random): Forward {
  const units = weights.bias.slice();
  const { at, value } = one.grams;
  for (let i = 0; i < at.length; i += 1) add(units, weights.grams, (at[i] as number) * hidden, value[i] as number);
  // A feature that a caller lacks must not mislead: each is left out now and then.
  const dense = one.dense.slice();
  for (let i = 0; i < dense.length; i += 2) if (random.next() < 0.1) dense[i] = dense[i + 1] = 0;
  let content = weights.offset[0] as number;
  for (const [row, input] of dense.entries()) {
    if (input === 0) continue;
    add(units, weights.dense, row * hidden, input);
    content += (weights.skip[row] as number) * input;
  }
  for (let i = 0; i < hidden; i += 1) {
    units[i] = Math.tanh(units[i] as number);
    content += (weights.out[i] as number) * (units[i] as number);
  }
  const measured = one.terms.reduce((sum, term, i) => sum + term * (weights.executed[i] as number), weights.ran[0] as number);
  return { one, dense, units, content, total: content + head * measured };
}

function add(sums: Float32Array, matrix: Float32Array, from: number, factor: number): void {
  for (let i = 0; i < hidden; i += 1) sums[i] = (sums[i] as number) + factor * (matrix[from + i] as number);
}

function learn(group: readonly Encoded[], weights: Parameters, gradients: Parameters, options: FitOptions, random: Random): void {
  const runs = group.map((one) => forward(one, weights, options.head, random));
  const byContent = slopes(runs, ({ content }) => content);
  const byTotal = slopes(runs, ({ total }) => total);
  for (const [at, run] of runs.entries()) {
    const total = byTotal[at] as number;
    backward(run, (byContent[at] as number) + total, weights, gradients);
    const measured = options.head * total;
    for (const [i, term] of run.one.terms.entries()) gradients.executed[i] = (gradients.executed[i] as number) + measured * term;
    gradients.ran[0] = (gradients.ran[0] as number) + measured;
  }
}

/** dLoss/dE of each candidate of a state. */
function slopes(runs: readonly Forward[], energyOf: (run: Forward) => number): number[] {
  const energies = runs.map(energyOf);
  const lowest = Math.min(...energies);
  const mass = energies.map((energy) => Math.exp(lowest - energy));
  const all = mass.reduce((sum, value) => sum + value, 0);
  const right = mass.reduce((sum, value, at) => sum + (runs[at]?.one.right === true ? value : 0), 0);
  return runs.map(({ one }, at) => {
    const energy = energies[at] as number;
    const p = 1 / (1 + Math.exp(energy));
    const logistic = one.right ? rightWeight * (1 - p) : -p;
    const ranking = right === 0 ? 0 : (one.right ? (mass[at] as number) / right : 0) - (mass[at] as number) / all;
    return logistic / runs.length + ranking;
  });
}

function backward({ one, dense, units }: Forward, slope: number, weights: Parameters, gradients: Parameters): void {
  if (slope === 0) return;
  gradients.offset[0] = (gradients.offset[0] as number) + slope;
  const inner = new Float32Array(hidden);
  for (let i = 0; i < hidden; i += 1) {
    const unit = units[i] as number;
    gradients.out[i] = (gradients.out[i] as number) + slope * unit;
    inner[i] = slope * (weights.out[i] as number) * (1 - unit * unit);
    gradients.bias[i] = (gradients.bias[i] as number) + (inner[i] as number);
  }
  const spread = (matrix: Float32Array, from: number, factor: number): void => {
    for (let i = 0; i < hidden; i += 1) matrix[from + i] = (matrix[from + i] as number) + factor * (inner[i] as number);
  };
  const { at, value } = one.grams;
  for (let i = 0; i < at.length; i += 1) spread(gradients.grams, (at[i] as number) * hidden, value[i] as number);
  for (const [row, input] of dense.entries()) {
    if (input === 0) continue;
    gradients.skip[row] = (gradients.skip[row] as number) + slope * input;
    spread(gradients.dense, row * hidden, input);
  }
}

function fileOf(
  weights: Parameters,
  spread: Pick<ContentModel, 'mean' | 'deviation'>,
  head: number,
): Omit<EnergyHeadFile, 'calibration' | 'about'> {
  const rounded = (values: ArrayLike<number>): number[] => Array.from(values, (value) => Number(value.toPrecision(4)));
  const { grams, dense, bias, out, skip, offset } = weights;
  const content: ContentModel = {
    hidden,
    grams: rounded(grams),
    mean: rounded(spread.mean),
    deviation: rounded(spread.deviation),
    dense: rounded(dense),
    bias: rounded(bias),
    out: rounded(out),
    skip: rounded(skip),
    offset: offset[0] as number,
  };
  const named = executed.map(({ name }, at) => [name, Number((weights.executed[at] as number).toPrecision(4))] as const);
  const lambdas = { lambda: 1, head };
  return { content, prior: {}, executed: Object.fromEntries(named), ran: Number((weights.ran[0] as number).toPrecision(4)), lambdas };
}
