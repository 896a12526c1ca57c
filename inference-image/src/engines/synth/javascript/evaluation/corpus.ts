import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { readCases, type Case, type Corpus, type Executed, type TestRun } from '../../evaluation/evaluate.ts';

/** Wall time for one test or candidate: then the process is killed, and the next ones run in another. */
const limitMillis = 10_000;
const flags = ['--experimental-vm-modules', '--max-old-space-size=256', '--disable-warning=ExperimentalWarning'];

/** Bugs in JavaScript and TypeScript, run by `runner.mjs`. */
export const javascriptCorpus: Corpus = {
  language: 'JavaScript and TypeScript',
  cases: (half) => readCases(join(import.meta.dirname, '../testdata', half), /\.(mjs|js|ts)$/),
  execute,
};

type Said = { readonly run: TestRun } | { readonly traced: true } | { readonly passed: boolean };

async function execute(subject: Case, candidates: readonly string[], stop: boolean): Promise<Executed> {
  const runs: TestRun[] = [];
  const passed: boolean[] = [];
  const isDone = (): boolean => passed.length >= candidates.length || (stop && passed.at(-1) === true);
  let traced = false;
  do {
    const { path, source, tests } = subject;
    await listen({ path, source, tests, candidates, from: passed.length, runs: !traced }, (said) => {
      if ('run' in said) runs.push(said.run);
      else if ('traced' in said) traced = true;
      else if (!isDone()) passed.push(said.passed);
      return traced && isDone();
    });
    if (!traced) throw new Error(`node ended before all tests of ${subject.name} had run`);
    // A process that ended early was ended by the candidate that it ran, which has failed.
    if (!isDone()) passed.push(false);
  } while (!isDone());
  return { runs, passed };
}

/** Runs one process until it ends, must be killed, or `take` has enough. */
async function listen(job: object, take: (said: Said) => boolean): Promise<void> {
  const child = spawn(execPath, [...flags, join(import.meta.dirname, 'runner.mjs')], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(job));
  const timer = setTimeout(kill, limitMillis, child);
  for await (const line of createInterface({ input: child.stdout })) {
    timer.refresh();
    if (take(JSON.parse(line) as Said)) kill(child);
  }
  clearTimeout(timer);
  await ended;
}

function kill(child: ChildProcess): void {
  child.kill('SIGKILL');
}
