import {
  heads,
  memoryDecay,
  pool,
  remember,
  shapes,
  sigmoid,
  sizes,
  softmax,
  tensorNames,
  tick,
  work,
} from '../../inference-image/src/models/planner/network.ts';
import type { TensorName, Tick, View, Weights } from '../../inference-image/src/models/planner/network.ts';
import { tools } from '../../inference-image/src/models/planner/encode.ts';

/** Outcome of the next step; null: not known. */
export interface Target {
  readonly tool: number;
  readonly harm: boolean;
  readonly standstill: boolean | null;
}

/** One trace as numbers: the steps, the next step of each moment or null when the planner is not to see it, and the targets. */
export interface Lesson {
  readonly steps: readonly Float32Array[];
  readonly next: readonly (Float32Array | null)[];
  readonly targets: readonly Target[];
}

export function emptyGradients(): Weights {
  const tensor = (name: TensorName): Float32Array => new Float32Array(shapes[name][0] * shapes[name][1]);
  return Object.fromEntries(tensorNames.map((name) => [name, tensor(name)])) as Record<TensorName, Float32Array>;
}

/** grad += dy ⊗ x, and dx += Mᵀ·dy when dx is asked for. */
function spread(grad: Float32Array, matrix: Float32Array, dy: Float32Array, x: Float32Array, dx: Float32Array | null, firstRow = 0): void {
  const columns = x.length;
  for (let row = 0; row < dy.length; row += 1) {
    const slope = dy[row] as number;
    if (slope === 0) continue;
    let at = (firstRow + row) * columns;
    for (let i = 0; i < columns; i += 1, at += 1) {
      grad[at] = (grad[at] as number) + slope * (x[i] as number);
      if (dx !== null) dx[i] = (dx[i] as number) + slope * (matrix[at] as number);
    }
  }
}

function sum(into: Float32Array, from: Float32Array, factor = 1): void {
  for (let i = 0; i < into.length; i += 1) into[i] = (into[i] as number) + factor * (from[i] as number);
}

interface Moment {
  readonly view: View;
  readonly hidden: Float32Array;
  readonly slopes: Float32Array;
  readonly ticks: number;
}

/**
 * Forward over a trace, then back through all ticks. Adds to the gradients.
 *
 * @returns the sum of the losses: cross-entropy of the tool, binary cross-entropy of harm and standstill
 */
export function learn(lesson: Lesson, weights: Weights, gradients: Weights, scale: number): number {
  const worked = lesson.steps.map((step) => work(weights, step));
  const planned = lesson.next.map((step) => (step === null ? null : work(weights, step)));
  const { ticks, pools } = tickAll(weights, worked);
  const memory = new Float32Array(sizes.worker);
  const none = new Float32Array(sizes.worker);
  const moments: Moment[] = [];
  let loss = 0;
  for (const [at, target] of lesson.targets.entries()) {
    const done = Math.floor(at / sizes.interval);
    const plan = done === 0 ? new Float32Array(sizes.plan) : (ticks[done - 1] as Tick).state;
    const view = { plan, memory: memory.slice(), last: worked[at - 1] ?? none, next: planned[at] ?? none };
    const { hidden, logits } = heads(weights, view);
    const slopes = new Float32Array(logits.length);
    loss += judge(logits, target, slopes, scale);
    moments.push({ view, hidden, slopes, ticks: done });
    remember(memory, worked[at] as Float32Array);
  }
  const back = new Backward(lesson, weights, gradients);
  back.heads(moments, planned);
  back.memory();
  back.ticks(ticks, pools);
  back.worker(worked);
  return loss;
}

function tickAll(weights: Weights, worked: readonly Float32Array[]): { readonly ticks: Tick[]; readonly pools: Float32Array[] } {
  const [ticks, pools]: [Tick[], Float32Array[]] = [[], []];
  for (let from = 0; from + sizes.interval < worked.length; from += sizes.interval) {
    const pooled = pool(worked.slice(from, from + sizes.interval));
    pools.push(pooled);
    ticks.push(tick(weights, ticks.at(-1)?.state ?? new Float32Array(sizes.plan), pooled));
  }
  return { ticks, pools };
}

/** Weight of each loss beside that of harm. */
const lossShare = { tool: 0.1, standstill: 0.5 };

function judge(logits: Float32Array, { tool, harm, standstill }: Target, slopes: Float32Array, scale: number): number {
  const shares = softmax(logits.subarray(0, tools.length));
  for (const [at, share] of shares.entries()) slopes[at] = scale * lossShare.tool * (share - (at === tool ? 1 : 0));
  const binary = (at: number, yes: boolean, weight: number): number => {
    const p = sigmoid(logits[at] as number);
    slopes[at] = scale * weight * (p - (yes ? 1 : 0));
    return -weight * Math.log(Math.max(1e-9, yes ? p : 1 - p));
  };
  const risk = binary(tools.length, harm, 1);
  const next = -lossShare.tool * Math.log(Math.max(1e-9, shares[tool] ?? 0));
  return next + risk + (standstill === null ? 0 : binary(tools.length + 1, standstill, lossShare.standstill));
}

class Backward {
  readonly #lesson: Lesson;
  readonly #w: Weights;
  readonly #g: Weights;
  readonly #worked: Float32Array[];
  readonly #plans: Float32Array[];
  readonly #memories: Float32Array[];

  constructor(lesson: Lesson, weights: Weights, gradients: Weights) {
    this.#lesson = lesson;
    this.#w = weights;
    this.#g = gradients;
    const each = (size: number): Float32Array[] => lesson.steps.map(() => new Float32Array(size));
    this.#worked = each(sizes.worker);
    this.#memories = each(sizes.worker);
    this.#plans = lesson.steps.map((_, at) => new Float32Array(at % sizes.interval === 0 ? sizes.plan : 0));
  }

  heads(moments: readonly Moment[], planned: readonly (Float32Array | null)[]): void {
    const [w, g] = [this.#w, this.#g];
    for (const [at, { view, hidden, slopes, ticks }] of moments.entries()) {
      const inner = new Float32Array(sizes.head);
      spread(g.out, w.out, slopes, hidden, inner);
      sum(g.outBias, slopes);
      for (let i = 0; i < inner.length; i += 1) inner[i] = (inner[i] as number) * (1 - (hidden[i] as number) ** 2);
      sum(g.headBias, inner);
      spread(g.headPlan, w.headPlan, inner, view.plan, ticks === 0 ? null : this.#planSlope(ticks));
      spread(g.headMemory, w.headMemory, inner, view.memory, this.#memories[at] as Float32Array);
      spread(g.headLast, w.headLast, inner, view.last, this.#worked[at - 1] ?? null);
      const next = planned[at];
      if (next === null || next === undefined) continue;
      const dz = new Float32Array(sizes.worker);
      spread(g.headNext, w.headNext, inner, next, dz);
      this.#work(dz, next, this.#lesson.next[at] as Float32Array);
    }
  }

  /** Slope of the plan after so many ticks. */
  #planSlope(ticks: number): Float32Array {
    return this.#plans[(ticks - 1) * sizes.interval] as Float32Array;
  }

  /** The memory of a moment is that of the moment before it, decayed, and the step between them. */
  memory(): void {
    for (let at = this.#memories.length - 1; at > 0; at -= 1) {
      const slope = this.#memories[at] as Float32Array;
      sum(this.#memories[at - 1] as Float32Array, slope, memoryDecay);
      sum(this.#worked[at - 1] as Float32Array, slope, 1 - memoryDecay);
    }
  }

  ticks(ticks: readonly Tick[], pools: readonly Float32Array[]): void {
    for (let at = ticks.length - 1; at >= 0; at -= 1) {
      const before = ticks[at - 1]?.state ?? new Float32Array(sizes.plan);
      const dBefore = at === 0 ? null : this.#planSlope(at);
      const dPooled = this.#tick(ticks[at] as Tick, before, pools[at] as Float32Array, this.#planSlope(at + 1), dBefore);
      for (let i = 0; i < sizes.interval; i += 1) sum(this.#worked[at * sizes.interval + i] as Float32Array, dPooled, 1 / sizes.interval);
      sum(this.#worked[(at + 1) * sizes.interval - 1] as Float32Array, dPooled.subarray(sizes.worker));
    }
  }

  #tick(one: Tick, before: Float32Array, pooled: Float32Array, slope: Float32Array, dBefore: Float32Array | null): Float32Array {
    const [n, w, g] = [sizes.plan, this.#w, this.#g];
    const sums = new Float32Array(3 * n);
    const inner = new Float32Array(n);
    for (let i = 0; i < n; i += 1) {
      const [r, u, c, h, dy] = [one.reset[i], one.update[i], one.candidate[i], before[i], slope[i]] as [
        number,
        number,
        number,
        number,
        number,
      ];
      const dc = dy * (1 - u) * (1 - c * c);
      sums[2 * n + i] = dc;
      inner[i] = dc * r;
      sums[i] = dc * (one.inner[i] as number) * r * (1 - r);
      sums[n + i] = dy * (h - c) * u * (1 - u);
      if (dBefore !== null) dBefore[i] = (dBefore[i] as number) + dy * u;
    }
    const dPooled = new Float32Array(sizes.pooled);
    spread(g.gruIn, w.gruIn, sums, pooled, dPooled);
    sum(g.gruBias, sums);
    sum(g.gruStateBias, inner);
    // At the first tick the state is zero: its matrix has no part in it.
    if (dBefore === null) return dPooled;
    spread(g.gruState, w.gruState, sums.subarray(0, 2 * n), before, dBefore);
    spread(g.gruState, w.gruState, inner, before, dBefore, 2 * n);
    return dPooled;
  }

  worker(worked: readonly Float32Array[]): void {
    for (const [at, z] of worked.entries()) this.#work(this.#worked[at] as Float32Array, z, this.#lesson.steps[at] as Float32Array);
  }

  #work(slope: Float32Array, z: Float32Array, step: Float32Array): void {
    const inner = slope.map((value, i) => value * (1 - (z[i] as number) ** 2));
    spread(this.#g.workerIn, this.#w.workerIn, inner, step, null);
    sum(this.#g.workerBias, inner);
  }
}
