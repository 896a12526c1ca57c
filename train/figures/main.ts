// Prints the worth of the committed energies: the Code head on held-out problems, which are generated again (`--data FILE` as for
// `train/main.ts`), the other heads from `acts/figures.json`. `--write` replaces the tables of energies in docs/benchmarks.md.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { format, resolveConfig } from 'prettier';
import { loadEnergyModel } from '../../inference-image/src/models/energy/scorer.ts';
import { dataOf } from '../data/generate.ts';
import { groupsOf } from '../energy/items.ts';
import { codeFigures, type CodeFigures, type Tries } from './code.ts';
import type { Interval } from '@agentfleet/eval/stats';

type Bounds = readonly number[];

interface HalfFigures {
  readonly samples: number;
  readonly auc: Bounds;
  readonly ece: Bounds;
}

/** Of `acts/figures.json`. */
interface ActHeadFigures {
  readonly parts: Readonly<Record<string, Readonly<Record<'all' | 'pack' | 'asked', HalfFigures>>>>;
}

const digits = 3;
const cell = ([value, low, high]: Bounds): string =>
  `${(value ?? Number.NaN).toFixed(digits)} (${(low ?? Number.NaN).toFixed(digits)}–${(high ?? Number.NaN).toFixed(digits)})`;
const bounds = ({ value, low, high }: Interval): Bounds => [value, low, high];

const names: Readonly<Record<string, string>> = { contentOnly: 'content', featuresOnly: 'features', both: 'both' };

function actRows(heads: Readonly<Record<string, ActHeadFigures>>): readonly string[] {
  return Object.entries(heads).flatMap(([head, { parts }]) =>
    Object.entries(parts).flatMap(([part, { all, pack, asked }]) =>
      [['pack and made', all] as const, ['pack alone', pack] as const, ['pack, left by gate 1', asked] as const].map(
        ([where, { samples, auc, ece }]) => `| ${head} | ${names[part] ?? part} | ${where} | ${samples} | ${cell(auc)} | ${cell(ece)} |`,
      ),
    ),
  );
}

function codeRows({ items, parts }: CodeFigures): readonly string[] {
  return Object.entries(parts).map(
    ([part, { auc, ece }]) =>
      `| Code | ${part} | held-out problems | ${items} | ${cell(bounds(auc))} | ${ece === null ? '' : cell(bounds(ece))} |`,
  );
}

function tablesOf(code: CodeFigures, heads: Readonly<Record<string, ActHeadFigures>>): string {
  const { tries, millisOf8 } = code;
  const head = '| Head | Part | On | Acts | AUC | ECE |\n|---|---|---|---|---|---|';
  const rows = [...codeRows(code), ...actRows(heads)].join('\n');
  const triesHead = '| Order of the proposals | Tries until the right one | Difference to the own order |\n|---|---|---|';
  const own = `| Synth's own | ${cell(bounds(tries.own))} | |`;
  const row = (name: string, { tries: mean, spared }: Tries): string => `| ${name} | ${cell(bounds(mean))} | ${cell(bounds(spared))} |`;
  const ordered = [...tries.rounds.map((one) => row(`rounds of ${one.size} by energy`, one)), row('all by energy', tries.all)];
  const counted = `${tries.states} states of ${code.problems} held-out problems, paired by state; 95 % by bootstrap over states.`;
  const time = `Energies of 8 proposals in one process: p50 ${millisOf8.p50} ms, p95 ${millisOf8.p95} ms (aim: 5 ms).`;
  return [head, rows, '', counted, '', triesHead, own, ...ordered, '', time, ''].join('\n');
}

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', '..', 'inference-image');
const page = join(image, '..', 'docs', 'benchmarks.md');
const [begin, end] = ['<!-- energies -->', '<!-- end of energies -->'];

const at = argv.indexOf('--data');
const data = await dataOf(at === -1 ? undefined : argv[at + 1], { seed, perProblem: 4, say: console.error });
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
