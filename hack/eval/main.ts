// `npm run eval [-- --write]` and `npm run eval:full`: measures by packs and makes the tables of docs/benchmarks.md.
// --only NAME runs one step (or several, with commas); --write keeps its numbers in hack/eval/measured/ and rewrites the tables out of
// all numbers there; --tables measures nothing; --from FOLDER takes what was measured there before. Results are in eval-results/.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '@agentfleet/cli';
import { systemClock } from '@agentfleet/kube';
import { rewritten } from './document.ts';
import { keepMeasured, resultOf } from './measured.ts';
import { stepsOf, type EvalStep } from './plan.ts';

const root = join(import.meta.dirname, '../..');
const document = join(root, 'docs', 'benchmarks.md');
const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: { full: flag, write: flag, tables: flag, only: { type: 'string' }, from: { type: 'string' } },
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

/** Runs a step, or takes what it has left elsewhere; keeps its numbers where they are wanted. */
async function measure(step: EvalStep): Promise<void> {
  const { name, argv, table } = step;
  const folder = join(values.from ?? join(root, 'eval-results'), name);
  if (values.from === undefined) {
    console.log(`\nfleet ${argv.join(' ')}\n`);
    await rm(folder, { recursive: true, force: true });
    const status = await fleet([...argv, '--out', folder]);
    if (status !== 0) throw new Error(`fleet ${argv.join(' ')} ended with status ${status}; its words stand above`);
  }
  if (values.write && table !== undefined) await keepMeasured(step, await resultOf(step, folder));
}

const began = performance.now();
const only = values.only?.split(',');
const steps = stepsOf(values.full).filter(({ name }) => only?.includes(name) ?? true);
if (steps.length === 0) throw new Error(`no step is called ${values.only ?? ''}; see hack/eval/plan.ts`);
if (!values.tables) for (const step of steps) await measure(step);
if (values.write || values.tables) await writeFile(document, await rewritten(await readFile(document, 'utf8'), document));
console.log(`${((performance.now() - began) / 60_000).toFixed(1)} min`);
