// Simulated rollouts: how often a canary is promoted, by how much worse it is, and after how many tasks.
//   node operator/bench/rollouts.ts
import { seededRandom } from '@agentfleet/kube/testing';
import { defaultLooks, designOf } from '../src/rollout/index.ts';
import { simulateErrors } from '../src/rollout/gates/testing/errors.ts';
import { simulateMissed } from '../src/rollout/gates/testing/missed.ts';
import { simulateVetoes } from '../src/rollout/gates/testing/vetoes.ts';
import { simulate } from '../src/rollout/statistics/testing/simulate.ts';

const rollouts = 10_000;
const stableRate = 0.9;

const goal = { alpha: 0.01, beta: 0.045, baseRate: stableRate, looks: defaultLooks };
const design = designOf({ ...goal, margin: 0.03 });
console.log(`| Canary passes | promoted of ${rollouts} | tasks of one arm, on average | of a fixed rule of 3,000 |\n|---|---|---|---|`);
for (const canaryRate of [0.93, 0.9, 0.885, 0.87, 0.85, 0.8]) {
  const { promoted, meanSamples } = simulate(design, canaryRate, stableRate, rollouts, seededRandom(7));
  console.log(`| ${(100 * canaryRate).toFixed(1)} % | ${promoted} | ${meanSamples.toFixed(0)} | ${(meanSamples / 3000).toFixed(2)} × |`);
}
console.log(
  '\n| Stable revision passes | equal: promoted | tasks of one arm | 3 points worse: promoted | passes none: tasks of one arm |\n|---|---|---|---|---|',
);
for (const rate of [0.95, 0.9, 0.8, 0.7, 0.6, 0.5]) {
  const [equal, worse, none] = [rate, rate - 0.03, 0].map((canary) => simulate(design, canary, rate, 2000, seededRandom(7)));
  const share = (of: typeof equal): string => `${((of?.promoted ?? 0) / 20).toFixed(1)} %`;
  const tasks = (of: typeof equal): string => (of?.meanSamples ?? 0).toFixed(0);
  console.log(`| ${(100 * rate).toFixed(0)} % | ${share(equal)} | ${tasks(equal)} | ${share(worse)} | ${tasks(none)} |`);
}
console.log('\n| Margin | tasks of one arm at most | first look after |\n|---|---|---|');
for (const margin of [0.05, 0.03, 0.02, 0.01]) {
  const { samplesPerArm, looks } = designOf({ ...goal, margin });
  console.log(`| ${(100 * margin).toFixed(0)} points | ${samplesPerArm} | ${2 * (looks[0]?.samples ?? 0)} |`);
}
console.log('\n| Tasks missed by the canary, 10 % by the stable revision | promoted | refused |\n|---|---|---|');
for (const canary of [0.05, 0.1, 0.12, 0.13, 0.14]) {
  const { promoted, refused } = simulateMissed({ stable: 0.1, canary }, 2000, seededRandom(7));
  console.log(`| ${(100 * canary).toFixed(0)} % | ${(100 * promoted).toFixed(1)} % | ${(100 * refused).toFixed(1)} % |`);
}
console.log('\n| Requests that fail | refused | passed at the end |\n|---|---|---|');
for (const rate of [0.005, 0.01, 0.015, 0.02, 0.05]) {
  const { refused, passed } = simulateErrors({ rate, requests: 20_000 }, 1000, seededRandom(7));
  console.log(`| ${(100 * rate).toFixed(1)} % | ${(100 * refused).toFixed(1)} % | ${(100 * passed).toFixed(1)} % |`);
}
console.log('\n| Acts vetoed, stable and canary | refused | passed at the end |\n|---|---|---|');
for (const [stable, canary] of [
  [0.005, 0.005],
  [0.05, 0.05],
  [0.005, 0.01],
  [0.05, 0.0625],
  [0.05, 0.075],
] as const) {
  const { refused, passed } = simulateVetoes({ stable, canary }, 1000, seededRandom(7));
  console.log(`| ${100 * stable} % and ${100 * canary} % | ${(100 * refused).toFixed(1)} % | ${(100 * passed).toFixed(1)} % |`);
}
