import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spectrumFromRuns, type Localisation } from '@agentfleet/protocol/inference';

export const halves = ['dev', 'heldout'] as const;
export type Half = (typeof halves)[number];

/** A small program with one planted bug, its tests, and the author's own repair. */
export interface Case {
  readonly name: string;
  readonly kind: string;
  /** The program's file; its tests import it by this name. */
  readonly path: string;
  readonly source: string;
  readonly tests: string;
  readonly repaired: string;
}

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

/** Cases of one language and what runs them. `dev` is for tuning, `heldout` only for looking. */
export interface Corpus {
  readonly language: string;
  readonly cases: (half: Half) => Promise<readonly Case[]>;
  /** With `stop` the first candidate that passes ends it. @throws Error when the language's own program fails */
  readonly execute: (subject: Case, candidates: readonly string[], stop: boolean) => Promise<Executed>;
}

interface Answer {
  readonly kind: string;
  readonly before: string;
  readonly after: string;
}

/**
 * The cases of a folder, by name: `<name>.<ending>`, `<name>_test.<ending>`, and `answers.json`,
 * which the engine never sees.
 */
export async function readCases(folder: string, files: readonly string[]): Promise<readonly Case[]> {
  const answers = JSON.parse(await readFile(join(folder, 'answers.json'), 'utf8')) as Readonly<Record<string, Answer>>;
  const subjects = files.filter((file) => !/_test\.\w+$/.test(file)).sort();
  return Promise.all(subjects.map((path) => readCase(folder, path, answers)));
}

async function readCase(folder: string, path: string, answers: Readonly<Record<string, Answer>>): Promise<Case> {
  const dot = path.lastIndexOf('.');
  const name = path.slice(0, dot);
  const answer = answers[name];
  if (answer === undefined) throw new Error(`${folder}/answers.json: nothing about ${name}`);
  const source = await readFile(join(folder, path), 'utf8');
  const tests = await readFile(join(folder, `${name}_test${path.slice(dot)}`), 'utf8');
  return { name, kind: answer.kind, path, source, tests, repaired: source.replace(answer.before, () => answer.after) };
}

/** The localisation that a worker would send for these runs. */
export function localise({ path }: Case, runs: readonly TestRun[]): Localisation {
  const spectrum = spectrumFromRuns(runs.map(({ test, outcome, lines }) => ({ test, outcome, covered: [{ path, lines }] })));
  const failed = runs.filter((run) => run.outcome === 'Failed');
  return { spectrum, failingTests: failed.map(({ test, message, trace }) => ({ id: test, message, trace })) };
}
