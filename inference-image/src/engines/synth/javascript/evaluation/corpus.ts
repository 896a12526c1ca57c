import { spawn, type ChildProcess } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { readCases, type Case, type Corpus, type Executed, type TestRun } from '../../evaluation/corpus.ts';

/** Of wall time for one test or candidate: then the process is killed, and the next ones go on in another. */
const limitMillis = 10_000;
const flags = ['--experimental-vm-modules', '--max-old-space-size=256', '--disable-warning=ExperimentalWarning'];

/** Bugs in JavaScript and TypeScript, run by `runner.mjs`. */
export const javascriptCorpus: Corpus = {
  language: 'JavaScript and TypeScript',
  async cases(half) {
    const folder = join(import.meta.dirname, '../testdata', half);
    const files = await readdir(folder);
    return readCases(
      folder,
      files.filter((file) => /\.(mjs|js|ts)$/.test(file)),
    );
  },
  execute,
};

type Said = { readonly run: TestRun } | { readonly passed: boolean };

async function execute(subject: Case, candidates: readonly string[], stop: boolean): Promise<Executed> {
  const runs: TestRun[] = [];
  const passed: boolean[] = [];
  const isDone = (): boolean => passed.length >= candidates.length || (stop && passed.at(-1) === true);
  let first = true;
  while (first || !isDone()) {
    const before = passed.length;
    const job = { path: subject.path, source: subject.source, tests: subject.tests, candidates, from: before, runs: first };
    const whole = await listen(job, (said) => {
      if ('run' in said) runs.push(said.run);
      else passed.push(said.passed);
      return isDone() && candidates.length > 0;
    });
    if (!whole && first && passed.length === 0) throw new Error(`node ended before all tests of ${subject.name} had run`);
    // The candidate that ended the process has failed.
    if (!whole && !isDone()) passed.push(false);
    first = false;
  }
  return { runs, passed };
}

/** Runs one process until it ends or `take` has enough; false when it was killed or died. */
async function listen(job: object, take: (said: Said) => boolean): Promise<boolean> {
  const child = spawn(execPath, [...flags, join(import.meta.dirname, 'runner.mjs')], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(job));
  const timer = setTimeout(kill, limitMillis, child);
  let enough = false;
  for await (const line of createInterface({ input: child.stdout })) {
    timer.refresh();
    enough ||= take(JSON.parse(line) as Said);
    if (enough) kill(child);
  }
  clearTimeout(timer);
  return (await ended) === 0 || enough;
}

function kill(child: ChildProcess): void {
  child.kill('SIGKILL');
}
