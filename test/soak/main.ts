// `npm run soak -- --tasks N`: very many tasks on a real cluster while parts of the fleet are killed, judged at the end.
//   --tasks N (default 200)   --seed N   --every SECONDS: mean time from one death to the next (default 20; 0: no part dies)
//   --workers N (default 2)   --concurrency N: tasks of a worker (default 3)   --ahead N: tasks that wait or run (default 24)
//   --minutes N: nothing is submitted later than that (default 0: no bound), nor after a SIGINT   --write FILE: the report   --log FILE
//   --keep: leave the namespace for a look
import { appendFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { report } from './report.ts';
import { runSoak } from './run.ts';
import { openStage } from './stage.ts';

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    minutes: { type: 'string', default: '0' },
    every: { type: 'string', default: '20' },
    workers: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '3' },
    ahead: { type: 'string', default: '24' },
    write: { type: 'string' },
    log: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

function whole(name: 'tasks' | 'seed' | 'minutes' | 'every' | 'workers' | 'concurrency' | 'ahead', least: number): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} "${values[name]}" must be a whole number from ${least} on`);
}

const options = {
  tasks: whole('tasks', 1),
  seed: whole('seed', 0),
  minutes: whole('minutes', 0),
  everyMs: whole('every', 0) * 1000,
  workers: whole('workers', 1),
  concurrency: whole('concurrency', 1),
  ahead: whole('ahead', 1),
};
const began = performance.now();
const say = (line: string): void => {
  const text = `${((performance.now() - began) / 1000).toFixed(0).padStart(6)} s  ${line}\n`;
  process.stderr.write(text);
  if (values.log !== undefined) void appendFile(values.log, text);
};

say(`seed ${options.seed}`);
const enough = new AbortController();
process.once('SIGINT', () => {
  say('nothing more is submitted');
  enough.abort();
});
const stage = await openStage({ ...options, say });
try {
  const outcome = await runSoak(stage, { ...options, say, enough: enough.signal });
  const text = report({ ...options, ...outcome });
  process.stdout.write(`\n${text}`);
  if (values.write !== undefined) await writeFile(values.write, text);
  process.exitCode = outcome.passed ? 0 : 1;
} finally {
  if (values.keep) await stage.transport.close();
  else await stage.close();
}
