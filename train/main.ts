// Makes the weights of planner and energy model again: generates the data, trains, measures on held-out problems, writes.
// `--data FILE` keeps the data, or takes them from there; `--write` replaces the committed weights and figures.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { format } from 'prettier';
import { loadEnergyModel } from '../inference-image/src/models/energy/scorer.ts';
import { dataOf, type DataSet } from './data/generate.ts';
import { trainEnergy } from './energy/train.ts';
import { trainPlanner } from './planner/train.ts';
import type { ControlStep } from '@agentfleet/protocol/inference';
import { groupsOf } from './energy/items.ts';
import type { Trace } from './planner/traces.ts';

/** A small sample of the held-out part for the tests: states with a right candidate, and every 36th trace. */
function fixtureOf(data: DataSet, traces: readonly Trace[]): object {
  const seen = new Set<string>();
  const groups = groupsOf(data.subjects, 'heldOut').filter(({ problem, depth, items }) => {
    const wanted = depth === 0 && items.some(({ right }) => right) && !seen.has(problem);
    if (wanted) seen.add(problem);
    return wanted;
  });
  const items = groups.slice(0, 5).flatMap((group) => {
    const right = group.items.filter((one) => one.right).slice(0, 1);
    const wrong = group.items.filter((one) => !one.right).slice(0, 4);
    return [...right, ...wrong];
  });
  const heldOut = traces.filter(({ split }) => split === 'heldOut');
  const round = (step: ControlStep): object =>
    Object.fromEntries(Object.entries(step).map(([name, value]) => [name, typeof value === 'number' ? Number(value.toFixed(4)) : value]));
  return {
    energy: items.map(({ item, right, plausible }) => ({ item, right, plausible })),
    planner: heldOut.filter((_, at) => at % 36 === 0).map(({ steps }) => steps.slice(0, 8).map(round)),
  };
}

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', 'inference-image');
const started = performance.now();
const say = (text: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}`);

const at = argv.indexOf('--data');
const data = await dataOf(at === -1 ? undefined : argv[at + 1], { seed, perProblem: 4, say });
say(`data: ${JSON.stringify(data.manifest)}`);
const energy = await trainEnergy(data, seed);
say(`energy model: ${JSON.stringify(energy.figures)}`);
const planner = trainPlanner(data, loadEnergyModel(energy.bytes), { seed, epochs: 5, tracesPerSubject: 3, say });
say(`planner: ${JSON.stringify(planner.figures)}`);
if (argv.includes('--write')) {
  const json = (value: unknown): Promise<string> => format(JSON.stringify(value), { parser: 'json', printWidth: 140 });
  await writeFile(join(image, 'weights', 'energy-features-v1.json'), energy.bytes);
  await writeFile(join(image, 'weights', 'planner-gru512.bin'), planner.bytes);
  const figures = { data: data.manifest, energy: energy.figures, planner: planner.figures };
  await writeFile(join(import.meta.dirname, 'figures.json'), await json(figures));
  await writeFile(join(image, 'src', 'models', 'testdata', 'held-out.json'), await json(fixtureOf(data, planner.traces)));
  say('written');
}
