// Makes a data set of labelled programs: `--count N` of them (default 20000), in the folder `--out FOLDER`; prints the rate.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { Judge } from '../data/judge.ts';
import { readProblems } from '../data/problems.ts';
import { generateExamples } from './generate.ts';
import { DataWriter } from './writer.ts';

const option = (name: string): string | undefined => {
  const at = argv.indexOf(name);
  return at === -1 ? undefined : argv[at + 1];
};
const count = Number(option('--count') ?? 20_000);
const seed = Number(option('--seed') ?? 20_261_121);
const out = option('--out');
if (!Number.isSafeInteger(count) || count < 1) throw new Error('--count is a number of programs from 1');

const folder = out ?? (await mkdtemp(join(tmpdir(), 'dataset-')));
const started = performance.now();
const judge = new Judge();
try {
  await using writer = await DataWriter.open(folder, seed);
  for await (const some of generateExamples(await readProblems(), { seed, count, flakyRate: 0.02, judge })) await writer.append(some);
  const seconds = (performance.now() - started) / 1000;
  const manifest = await writer.close();
  if (out !== undefined) console.log(JSON.stringify(manifest, null, 2));
  const rate = `${(manifest.examples / seconds).toFixed(0)} labelled programs/s (each run twice, its program before once; one judge)`;
  const peak = `peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`;
  console.log(`${manifest.examples} examples in ${seconds.toFixed(1)} s: ${rate}; ${peak}`);
} finally {
  await judge.close();
  if (out === undefined) await rm(folder, { recursive: true, force: true });
}
