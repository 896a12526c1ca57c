// Makes the weights of planner and energy model again: generates the data, trains, measures on held-out problems, writes.
// `--data FILE` keeps the data, or takes them from there; `--write` replaces the committed weights and figures.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { format } from 'prettier';
import { loadEnergyModel } from '../inference-image/src/models/energy/index.ts';
import { generateData, type DataSet } from './data/generate.ts';
import { trainEnergy } from './energy/train.ts';
import { fixtureOf } from './fixture.ts';
import { trainPlanner } from './planner/train.ts';

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', 'inference-image');
const started = performance.now();
const say = (text: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}`);

async function dataOf(file: string | undefined): Promise<DataSet> {
  if (file !== undefined && existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as DataSet;
  const data = await generateData({ seed, perProblem: 4, say });
  if (file !== undefined) await writeFile(file, JSON.stringify(data));
  return data;
}

const at = argv.indexOf('--data');
const data = await dataOf(at === -1 ? undefined : argv[at + 1]);
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
