// inference-image, models/planner: neural network of the planner. May import protocol.
import { expertInputs, inputs, tools } from './encode.ts';

/** Sizes of the network. A tick of the slow planner takes `interval` steps of the fast worker. */
export const sizes = { inputs, worker: 64, pooled: 128, plan: 512, head: 48, outputs: tools.length + 2, interval: 8 } as const;

/** Decay of the fast worker's memory, per step. */
export const memoryDecay = 0.8;

/** Matrices (rows × columns, row by row); a vector has one row. */
export const shapes = {
  workerIn: [sizes.worker, sizes.inputs],
  workerBias: [1, sizes.worker],
  gruIn: [3 * sizes.plan, sizes.pooled],
  gruState: [3 * sizes.plan, sizes.plan],
  gruBias: [1, 3 * sizes.plan],
  gruStateBias: [1, sizes.plan],
  headPlan: [sizes.head, sizes.plan],
  headMemory: [sizes.head, sizes.worker],
  headLast: [sizes.head, sizes.worker],
  headNext: [sizes.head, sizes.worker],
  headBias: [1, sizes.head],
  out: [sizes.outputs, sizes.head],
  outBias: [1, sizes.outputs],
  experts: [1, expertInputs],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

export type TensorName = keyof typeof shapes;
export type Weights = Readonly<Record<TensorName, Float32Array>>;
export const tensorNames = Object.keys(shapes) as TensorName[];

/** Adds M·x to y, from a row on. Four sums at once: one alone would wait for itself at each addition. */
export function addProduct(y: Float32Array, matrix: Float32Array, x: Float32Array, firstRow = 0): void {
  const columns = x.length;
  const fours = columns - (columns % 4);
  for (let row = 0; row < y.length; row += 1) {
    const at = (firstRow + row) * columns;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < fours; i += 4) {
      a += (matrix[at + i] as number) * (x[i] as number);
      b += (matrix[at + i + 1] as number) * (x[i + 1] as number);
      c += (matrix[at + i + 2] as number) * (x[i + 2] as number);
      d += (matrix[at + i + 3] as number) * (x[i + 3] as number);
    }
    for (let i = fours; i < columns; i += 1) a += (matrix[at + i] as number) * (x[i] as number);
    y[row] = (y[row] as number) + (a + b + (c + d));
  }
}

export const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** The fast worker on one step. */
export function work(weights: Weights, step: Float32Array): Float32Array {
  const z = weights.workerBias.slice();
  addProduct(z, weights.workerIn, step);
  for (let i = 0; i < z.length; i += 1) z[i] = Math.tanh(z[i] as number);
  return z;
}

/** Returns the planner's input of `interval` steps: their mean and the last. */
export function pool(steps: readonly Float32Array[]): Float32Array {
  const pooled = new Float32Array(sizes.pooled);
  for (const z of steps) for (let i = 0; i < sizes.worker; i += 1) pooled[i] = (pooled[i] as number) + (z[i] as number) / steps.length;
  const last = steps.at(-1);
  if (last !== undefined) pooled.set(last, sizes.worker);
  return pooled;
}

/** Intermediate values of one tick of the GRU, for training. */
export interface Tick {
  readonly reset: Float32Array;
  readonly update: Float32Array;
  readonly candidate: Float32Array;
  /** U·h + c of the candidate, before the reset. */
  readonly inner: Float32Array;
  readonly state: Float32Array;
}

/** One tick: a gated recurrent unit (K. Cho et al., EMNLP 2014; the reset after the product). */
export function tick(weights: Weights, state: Float32Array, pooled: Float32Array): Tick {
  const n = sizes.plan;
  const sums = weights.gruBias.slice();
  addProduct(sums, weights.gruIn, pooled);
  const gates = sums.subarray(0, 2 * n);
  addProduct(gates, weights.gruState, state);
  const inner = weights.gruStateBias.slice();
  addProduct(inner, weights.gruState, state, 2 * n);
  const [reset, update, candidate, next] = [new Float32Array(n), new Float32Array(n), new Float32Array(n), new Float32Array(n)];
  for (let i = 0; i < n; i += 1) {
    const r = sigmoid(gates[i] as number);
    const u = sigmoid(gates[n + i] as number);
    const c = Math.tanh((sums[2 * n + i] as number) + r * (inner[i] as number));
    reset[i] = r;
    update[i] = u;
    candidate[i] = c;
    next[i] = (1 - u) * c + u * (state[i] as number);
  }
  return { reset, update, candidate, inner, state: next };
}

/** Input of the heads. */
export interface View {
  readonly plan: Float32Array;
  readonly memory: Float32Array;
  readonly last: Float32Array;
  /** The step that is about to be taken; zero when it is not known. */
  readonly next: Float32Array;
}

/** Logits: tools, then risk, then standstill; and the hidden layer before them. */
export function heads(weights: Weights, view: View): { readonly hidden: Float32Array; readonly logits: Float32Array } {
  const hidden = weights.headBias.slice();
  addProduct(hidden, weights.headPlan, view.plan);
  addProduct(hidden, weights.headMemory, view.memory);
  addProduct(hidden, weights.headLast, view.last);
  addProduct(hidden, weights.headNext, view.next);
  for (let i = 0; i < hidden.length; i += 1) hidden[i] = Math.tanh(hidden[i] as number);
  const logits = weights.outBias.slice();
  addProduct(logits, weights.out, hidden);
  return { hidden, logits };
}

/** Worker, memory and plan over all steps, oldest first. */
export function view(weights: Weights, steps: readonly Float32Array[], next: Float32Array | null): View {
  const memory = new Float32Array(sizes.worker);
  const worked = steps.map((step) => work(weights, step));
  for (const z of worked) remember(memory, z);
  let plan: Float32Array = new Float32Array(sizes.plan);
  for (let from = 0; from + sizes.interval <= worked.length; from += sizes.interval)
    plan = tick(weights, plan, pool(worked.slice(from, from + sizes.interval))).state;
  const none = new Float32Array(sizes.worker);
  return { plan, memory, last: worked.at(-1) ?? none, next: next === null ? none : work(weights, next) };
}

export function remember(memory: Float32Array, z: Float32Array): void {
  for (let i = 0; i < memory.length; i += 1) memory[i] = memoryDecay * (memory[i] as number) + (1 - memoryDecay) * (z[i] as number);
}

export function softmax(logits: ArrayLike<number>): number[] {
  const values = Array.from(logits);
  const top = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - top));
  const sum = powers.reduce((total, value) => total + value, 0);
  return powers.map((value) => value / sum);
}
