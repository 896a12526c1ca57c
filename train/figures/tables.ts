import type { Interval } from '@agentfleet/eval/stats';
import type { CodeFigures, Tries } from './code.ts';

type Bounds = readonly number[];

interface HalfFigures {
  readonly samples: number;
  readonly auc: Bounds;
  readonly ece: Bounds;
}

/** Of `acts/figures.json`. */
export interface ActHeadFigures {
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

/** The tables of energies, as they stand in docs/benchmarks.md. */
export function tablesOf(code: CodeFigures, heads: Readonly<Record<string, ActHeadFigures>>): string {
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
