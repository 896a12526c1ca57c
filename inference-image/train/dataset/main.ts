// Makes a data set of labelled programs: `--count N` of them (default 20000), in the folder `--out FOLDER`; tells the rate.
import { argv } from 'node:process';
import { Judge } from '../data/judge.ts';
import { readProblems } from '../data/problems.ts';
import type { Example } from './example.ts';
import { writeData } from './files.ts';
import { generateExamples } from './generate.ts';
import { refuseUnfit } from './refuse.ts';

const option = (name: string): string | undefined => {
  const at = argv.indexOf(name);
  return at === -1 ? undefined : argv[at + 1];
};
const count = Number(option('--count') ?? 20_000);
const seed = Number(option('--seed') ?? 20_261_121);
const out = option('--out');
if (!Number.isSafeInteger(count) || count < 1) throw new Error('--count is a number of programs from 1');

const started = performance.now();
const judge = new Judge();
const examples: Example[] = [];
try {
  for await (const some of generateExamples(await readProblems(), { seed, count, flakyRate: 0.02, judge })) examples.push(...some);
} finally {
  await judge.close();
}
const seconds = (performance.now() - started) / 1000;
refuseUnfit(examples);
if (out !== undefined) console.log(JSON.stringify(await writeData(out, examples, seed), null, 2));
const strata = Map.groupBy(examples, ({ stratum }) => stratum);
console.log([...strata].map(([name, some]) => `${name} ${some.length}`).join(', '));
const rate = `${(examples.length / seconds).toFixed(0)} labelled programs/s (each run twice, its program before once; one judge)`;
console.log(
  `${examples.length} examples in ${seconds.toFixed(1)} s: ${rate}; peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`,
);
