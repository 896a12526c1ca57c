// `npm run eval [-- --write]` and `npm run eval:full`: measures by packs and makes the tables of docs/benchmarks.md.
// --only NAME runs one step (or several, with commas); --resume continues an interrupted run; --parallel N runs N
// processes at a time; --write keeps the numbers in hack/eval/measured/ and rewrites the tables from all numbers there;
// --tables measures nothing; --from FOLDER takes earlier measurements. Results are in eval-results/.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '@agentfleet/cli';
import { digestOfFolders, poolSources } from '@agentfleet/eval/local';
import { systemClock } from '@agentfleet/kube';
import { rewritten, keepMeasured, resultOf } from './document.ts';
import { stepsOf, type EvalStep } from './plan.ts';
import { runSteps, type StepRun } from './steps.ts';

const root = join(import.meta.dirname, '../..');
const document = join(root, 'docs', 'benchmarks.md');
const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: {
    full: flag,
    write: flag,
    tables: flag,
    resume: flag,
    parallel: { type: 'string', default: '2' },
    only: { type: 'string' },
    from: { type: 'string' },
  },
});
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

async function fleet(argv: readonly string[]): Promise<number> {
  return run(argv, {
    env: { ...process.env, AGENTFLEET_CHECKOUT: root },
    clock: systemClock,
    random: Math.random,
    terminal: process.stdout.isTTY,
    signal: stop.signal,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  });
}

/** A result depends on the judge as well as on the judged code. */
const inputsOf = ({ argv: [, , pack = ''] }: EvalStep): Promise<string> =>
  digestOfFolders(root, [...poolSources, 'eval/src', 'cli/src', join('test', 'packs', pack)]);

const out = values.from ?? join(root, 'eval-results');
const steps = stepsOf(values.full).filter(({ name }) => values.only?.split(',').includes(name) ?? true);
if (steps.length === 0) throw new Error(`no step is called ${values.only ?? ''}; see hack/eval/plan.ts`);
const minutesNow = (): number => performance.now() / 60_000;

async function measured(): Promise<readonly StepRun[]> {
  if (values.tables) return [];
  if (values.from !== undefined) return steps.map(({ name }) => ({ name, start: 'Done', status: 0, minutes: 0 }));
  const { resume, parallel } = values;
  const ports = { out, resume, parallel: Number(parallel), signal: stop.signal, inputsOf, fleet, minutesNow, print: console.log };
  return runSteps(steps, ports);
}

const runs = await measured();
const failed = runs.filter(({ status }) => status !== 0).map(({ name }) => name);
const worked = steps.filter(({ name, table }) => table !== undefined && runs.some((one) => one.name === name && one.status === 0));
if (values.write) for (const step of worked) await keepMeasured(step, await resultOf(step, join(out, step.name)));
if (values.write || values.tables) await writeFile(document, await rewritten(await readFile(document, 'utf8'), document));
for (const { name, start, status, minutes } of runs)
  console.log(`${name.padEnd(18)} ${minutes.toFixed(1).padStart(6)} min  ${start === 'Done' ? 'done before' : `status ${status}`}`);
console.log(`${runs.reduce((sum, { minutes }) => sum + minutes, 0).toFixed(1)} min, ${runs.length} of ${steps.length} steps`);
if (failed.length > 0) {
  console.error(`these steps failed: ${failed.join(', ')}; their words stand above; --resume runs them again and no other`);
  process.exitCode = 1;
}
if (stop.signal.aborted) process.exitCode = 130;
