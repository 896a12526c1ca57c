import { readPlannerFile, writePlannerFile, type HeldOut } from '../../inference-image/src/models/planner/file.ts';
import { type Weights, shapes, tensorNames, type TensorName, softmax } from '../../inference-image/src/models/planner/network.ts';
import type { EnergyScorer } from '../../inference-image/src/models/energy/scorer.ts';
import { Adam } from '../numeric/adam.ts';
import type { DataSet } from '../data/generate.ts';
import { auc, mean } from '@agentfleet/protocol/stats';
import { Random } from '../numeric/random.ts';
import { emptyGradients, learn, type Lesson } from './backward.ts';
import { bestSingle, listen, thresholdOf } from './measure.ts';
import { tracesOf, type Trace, standstill } from './traces.ts';
import { encodeStep, isHarm, tools, encodeExperts, expertInputs, isProgress } from '../../inference-image/src/models/planner/encode.ts';

interface Choice {
  readonly inputs: readonly Float32Array[];
  readonly chosen: number;
}

/**
 * Moments at which one of several experts brought the work forward. In the traces who proposes is drawn evenly, so that
 * p(expert | progress) is what each is worth.
 */
export function choicesOf(traces: readonly Trace[]): Choice[] {
  return traces
    .filter(({ experts }) => experts > 1)
    .flatMap(({ steps, experts }) =>
      steps.flatMap(({ result, expert }, at) =>
        isProgress(result) ? [{ inputs: encodeExperts(steps.slice(0, at), experts), chosen: expert }] : [],
      ),
    );
}

/** Conditional logit by gradient descent; a little decay keeps what the data do not speak of near 0. */
function fitExperts(choices: readonly Choice[]): Float32Array {
  const weights = new Float32Array(expertInputs);
  for (let round = 0; round < 400; round += 1) {
    const gradient = new Float32Array(expertInputs);
    for (const { inputs, chosen } of choices) {
      const shares = sharesOf(weights, inputs);
      for (const [expert, input] of inputs.entries()) {
        const slope = ((shares[expert] ?? 0) - (expert === chosen ? 1 : 0)) / choices.length;
        for (let i = 0; i < expertInputs; i += 1) gradient[i] = (gradient[i] as number) + slope * (input[i] as number);
      }
    }
    for (let i = 0; i < expertInputs; i += 1)
      weights[i] = (weights[i] as number) - 0.5 * ((gradient[i] as number) + 0.001 * (weights[i] as number));
  }
  return weights;
}

function sharesOf(weights: Float32Array, inputs: readonly Float32Array[]): number[] {
  return softmax(inputs.map((input) => input.reduce((sum, value, i) => sum + value * (weights[i] as number), 0)));
}

/** Mean nats of the expert that brought the work forward, by the model and by a uniform choice. */
function expertNats(weights: Float32Array, choices: readonly Choice[]): { readonly model: number; readonly uniform: number } {
  const model = choices.map(({ inputs, chosen }) => -Math.log(sharesOf(weights, inputs)[chosen] ?? 0));
  return { model: mean(model), uniform: mean(choices.map(({ inputs }) => Math.log(inputs.length))) };
}

/** Share of the moments at which the planner sees the step that is about to be taken. */
const seesNext = 0.3;

/** A trace as the network learns it. */
function lessonOf(trace: Trace, random: Random): Lesson {
  return {
    steps: trace.steps.map(encodeStep),
    next: trace.planned.map((step) => (random.next() < seesNext ? encodeStep(step) : null)),
    targets: trace.steps.map(({ tool, result }, at) => ({
      tool: tools.indexOf(tool),
      harm: isHarm(result),
      standstill: standstill(trace, at),
    })),
  };
}

/** Random weights of a size that keeps sums near one; vectors begin at 0. */
export function initialWeights(random: Random): Weights {
  const tensor = (name: TensorName): Float32Array => {
    const [rows, columns] = shapes[name];
    const spread = rows === 1 ? 0 : Math.sqrt(1 / columns);
    return Float32Array.from({ length: rows * columns }, () => spread * random.normal());
  };
  return Object.fromEntries(tensorNames.map((name) => [name, tensor(name)])) as Record<TensorName, Float32Array>;
}

interface PlannerOptions {
  readonly seed: number;
  readonly epochs: number;
  readonly tracesPerSubject: number;
  readonly say: (text: string) => void;
}

interface TrainedPlanner {
  readonly bytes: Buffer;
  readonly figures: Readonly<Record<string, number | string>>;
  readonly traces: readonly Trace[];
}

const batch = 16;

/** Trains on traces of the training problems; measures the weights as they are written, in int8, on the held-out ones. */
export function trainPlanner({ subjects, manifest }: DataSet, energy: EnergyScorer, options: PlannerOptions): TrainedPlanner {
  const { seed, tracesPerSubject } = options;
  const random = new Random(seed);
  const traces = tracesOf(subjects, energy, tracesPerSubject, random);
  const part = (split: Trace['split']): Trace[] => traces.filter((trace) => trace.split === split);
  const weights = fit(part('train'), options, random);
  // Chosen on the problems of calibration: those that are held out only measure what was chosen.
  weights.experts.set(expertsOf(part('train'), part('calibration')));
  const header = { script: 'train/main.ts', seed, data: String(manifest['digest']), heldOut: null, deliberateAbove: 0.5 };
  const packed = readPlannerFile(writePlannerFile(header, weights)).weights;
  const deliberateAbove = Number(thresholdOf(listen(packed, part('calibration')).deliberate).toFixed(4));
  const heldOut = measure(packed, part('heldOut'), random);
  const { model, uniform } = expertNats(packed.experts, choicesOf(part('heldOut')));
  const counts = { traces: traces.length, stepsInAll: traces.reduce((sum, { steps }) => sum + steps.length, 0), deliberateAbove };
  const bytes = writePlannerFile({ ...header, heldOut, deliberateAbove }, weights);
  return { bytes, traces, figures: { ...counts, ...heldOut, expertNats: model, expertNatsUniform: uniform } };
}

/** Fits the choice of the next expert by what experts did, if that holds on other problems, as the shadow for risk; else all stay equal. */
export function expertsOf(training: readonly Trace[], others: readonly Trace[]): Float32Array {
  const fitted = fitExperts(choicesOf(training));
  const { model, uniform } = expertNats(fitted, choicesOf(others));
  return model < uniform ? fitted : fitted.map(() => 0);
}

function fit(traces: readonly Trace[], { epochs, say }: PlannerOptions, random: Random): Weights {
  const weights = initialWeights(random);
  const gradients = emptyGradients();
  const adam = new Adam(0.001, 0.01);
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    let [loss, steps] = [0, 0];
    const order = random.shuffle(traces);
    for (let from = 0; from < order.length; from += batch) {
      const lessons = order.slice(from, from + batch).map((trace) => lessonOf(trace, random));
      const moments = lessons.reduce((sum, lesson) => sum + lesson.targets.length, 0);
      for (const lesson of lessons) loss += learn(lesson, weights, gradients, 1 / moments);
      steps += moments;
      adam.step(weights, gradients, 1 - (epoch + from / order.length) / epochs);
    }
    say(`planner: epoch ${epoch + 1} of ${epochs}, loss ${(loss / steps).toFixed(4)}`);
  }
  return weights;
}

function measure(weights: Weights, traces: readonly Trace[], random: Random): HeldOut {
  const { risk, riskOfPlanned, deliberate } = listen(weights, traces);
  const chance = Array.from({ length: 5 }, () => auc(listen(initialWeights(random), traces).risk));
  const single = bestSingle(traces);
  const rounded = (value: number): number => Number(value.toFixed(4));
  return {
    steps: risk.length,
    riskAuc: rounded(auc(risk)),
    riskAucOfPlannedStep: rounded(auc(riskOfPlanned)),
    // The best of five: the comparison must not be won by a weak opponent.
    randomWeightsAuc: rounded(Math.max(...chance)),
    constantAuc: 0.5,
    bestSingleFeature: single.name,
    bestSingleFeatureAuc: rounded(single.auc),
    deliberateAuc: rounded(auc(deliberate)),
  };
}
