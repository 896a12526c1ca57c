import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { spectrumFromRuns, type Localisation } from '@agentfleet/protocol/inference';
import type { Case } from './cases.ts';

/** What the tests of a case said: of its own text, and of each candidate in turn. */
export interface Executed {
  readonly runs: readonly TestRun[];
  readonly passed: readonly boolean[];
}

export interface TestRun {
  readonly test: string;
  readonly outcome: 'Passed' | 'Failed';
  readonly message: string;
  readonly trace: string;
  readonly lines: number[];
}

/** Runs Python for one case. With `stop` the first candidate that passes ends it. @throws Error when Python itself fails */
export async function execute(subject: Case, candidates: readonly string[], stop: boolean): Promise<Executed> {
  const python = spawn('python3', ['-I', '-S', join(import.meta.dirname, 'runner.py')], { stdio: ['pipe', 'pipe', 'pipe'] });
  const { name, source, tests } = subject;
  python.stdin.end(JSON.stringify({ name, source, tests, candidates, stop }));
  const ended = new Promise<number | null>((resolve, reject) => {
    python.once('error', reject);
    python.once('close', resolve);
  });
  const [output, errors, code] = await Promise.all([text(python.stdout), text(python.stderr), ended]);
  if (code !== 0) throw new Error(`python3 ended with ${code} on ${name}: ${errors.slice(-2000)}`);
  return JSON.parse(output) as Executed;
}

/** The localisation that a worker would send for these runs. */
export function localise(subject: Case, runs: readonly TestRun[]): Localisation {
  const path = `${subject.name}.py`;
  const spectrum = spectrumFromRuns(runs.map(({ test, outcome, lines }) => ({ test, outcome, covered: [{ path, lines }] })));
  const failed = runs.filter((run) => run.outcome === 'Failed');
  return { spectrum, failingTests: failed.map(({ test, message, trace }) => ({ id: test, message, trace })) };
}
