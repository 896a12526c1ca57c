// Tells what the committed energies are worth: the Code head on held-out problems, which are generated again (or taken from `--data FILE`
// of `train/main.ts`), the other heads from `acts/figures.json`. `--write` replaces the tables of energies in docs/benchmarks.md.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { format, resolveConfig } from 'prettier';
import { loadEnergyModel } from '../../inference-image/src/models/energy/index.ts';
import { generateData, type DataSet } from '../data/generate.ts';
import { groupsOf } from '../energy/items.ts';
import { codeFigures } from './code.ts';
import { tablesOf, type ActHeadFigures } from './tables.ts';

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', '..', 'inference-image');
const page = join(image, '..', 'docs', 'benchmarks.md');
const [begin, end] = ['<!-- energies -->', '<!-- end of energies -->'];

const at = argv.indexOf('--data');
const file = at === -1 ? undefined : argv[at + 1];
const say = (text: string): void => console.error(text);
const data =
  file !== undefined && existsSync(file)
    ? (JSON.parse(await readFile(file, 'utf8')) as DataSet)
    : await generateData({ seed, perProblem: 4, say });
const model = loadEnergyModel(await readFile(join(image, 'weights', 'energy-features-v3.json')));
const { heads } = JSON.parse(await readFile(join(import.meta.dirname, '..', 'acts', 'figures.json'), 'utf8')) as {
  readonly heads: Readonly<Record<string, ActHeadFigures>>;
};
const text = tablesOf(
  codeFigures(model, groupsOf(data.subjects, 'heldOut'), seed, () => performance.now()),
  heads,
);
console.log(text);
if (argv.includes('--write')) {
  const old = await readFile(page, 'utf8');
  const [from, to] = [old.indexOf(begin), old.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${page} lacks ${begin} and ${end}; put them where the tables belong`);
  const whole = `${old.slice(0, from + begin.length)}\n\n${text}\n${old.slice(to)}`;
  await writeFile(page, await format(whole, { ...(await resolveConfig(page)), parser: 'markdown' }));
}
