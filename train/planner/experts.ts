import { encodeExperts, expertInputs, isProgress } from '../../inference-image/src/models/planner/encode.ts';
import { softmax } from '../../inference-image/src/models/planner/network.ts';
import { mean } from '@agentfleet/protocol/stats';
import type { Trace } from './traces.ts';

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
export function fitExperts(choices: readonly Choice[]): Float32Array {
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
export function expertNats(weights: Float32Array, choices: readonly Choice[]): { readonly model: number; readonly uniform: number } {
  const model = choices.map(({ inputs, chosen }) => -Math.log(sharesOf(weights, inputs)[chosen] ?? 0));
  return { model: mean(model), uniform: mean(choices.map(({ inputs }) => Math.log(inputs.length))) };
}
