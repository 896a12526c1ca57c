import { policyLabels } from '@agentfleet/protocol/inference';
import { buckets, encode, type Encoded } from '../../inference-image/src/engines/policy/features.ts';
import { policyFormat, type PolicyFile } from '../../inference-image/src/engines/policy/policy.ts';
import { softmax } from '../../inference-image/src/models/planner/network.ts';
import type { Random } from '../numeric/random.ts';
import type { Sample } from './samples.ts';

const epochs = 24;
const rate = 0.2;
/** Pull towards 0, per update of a weight that is in use. */
const decay = 1e-3;
/** Share of features that a pass does not see, so that no single one decides. */
const dropped = 0.25;

interface Weights {
  readonly bias: Float64Array;
  readonly matrix: readonly Float64Array[];
}

/** Softmax over hashed features by AdaGrad (Duchi et al. 2011); classes weigh so that Benign is half of all. */
export function train(samples: readonly Sample[], random: Random, about: PolicyFile['about']): PolicyFile {
  const classes = policyLabels.length;
  const { bias, matrix } = fit(samples, random, classes);
  const scales = matrix.map(
    (row) =>
      Math.max(
        1e-9,
        row.reduce((top, weight) => Math.max(top, Math.abs(weight)), 0),
      ) / 127,
  );
  const rounded = scales.map((scale) => Number(scale.toPrecision(6)));
  return {
    format: policyFormat,
    labels: policyLabels,
    buckets,
    about,
    bias: Array.from(bias, (value) => Number(value.toPrecision(6))),
    scales: rounded,
    weights: matrix.map((row, at) =>
      Buffer.from(Int8Array.from(row, (weight) => Math.round(weight / (scales[at] ?? 1))).buffer).toString('base64'),
    ),
  };
}

function fit(samples: readonly Sample[], random: Random, classes: number): Weights {
  const matrix = policyLabels.map(() => new Float64Array(buckets));
  const squares = policyLabels.map(() => new Float64Array(buckets).fill(1e-3));
  const bias = new Float64Array(classes);
  const encoded = samples.map(({ act, label, weight }) => ({ set: encode(act), label: policyLabels.indexOf(label), weight }));
  const mass = (safe: boolean): number => encoded.reduce((sum, { label, weight }) => sum + ((label === 0) === safe ? weight : 0), 0);
  const [safe, unsafe] = [encoded.length / (2 * mass(true)), encoded.length / (2 * mass(false))];
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    for (const { set, label, weight } of random.shuffle(encoded)) {
      const seen = set.filter(() => random.next() >= dropped);
      const sum = (row: Float64Array): number => seen.reduce((total, [bucket, value]) => total + value * (row[bucket] ?? 0), 0);
      const shares = softmax(matrix.map((row, at) => (bias[at] ?? 0) + sum(row)));
      for (let at = 0; at < classes; at += 1) {
        const error = weight * (label === 0 ? safe : unsafe) * ((shares[at] ?? 0) - Number(at === label));
        bias[at] = (bias[at] ?? 0) - 0.02 * error;
        update(matrix[at] as Float64Array, squares[at] as Float64Array, seen, error);
      }
    }
  }
  return { bias, matrix };
}

function update(row: Float64Array, squares: Float64Array, seen: Encoded, error: number): void {
  for (const [bucket, value] of seen) {
    const step = error * value + decay * (row[bucket] as number);
    squares[bucket] = (squares[bucket] as number) + step * step;
    row[bucket] = (row[bucket] as number) - (rate * step) / Math.sqrt(squares[bucket]);
  }
}
