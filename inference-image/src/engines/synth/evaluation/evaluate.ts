import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spectrumFromRuns, type Localisation, generateBounds, type Candidate, type GenerateRequest } from '@agentfleet/protocol/inference';
import type { Generated } from '../../../base/engine.ts';
import type { Engine } from '../../../base/served.ts';
import { seededOrder } from '../pool.ts';

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

/** Test results of a case: of its own text, and of each candidate in turn. */
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

/** Cases of one language and their runner. `dev` is for tuning, `heldout` only for measuring. */
export interface Corpus {
  readonly language: string;
  readonly cases: (half: Half) => Promise<readonly Case[]>;
  /** With `stop` it ends at the first candidate that passes. @throws Error when the language's own program fails */
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
export async function readCases(folder: string, ending: RegExp): Promise<readonly Case[]> {
  const answers = JSON.parse(await readFile(join(folder, 'answers.json'), 'utf8')) as Readonly<Record<string, Answer>>;
  const subjects = (await readdir(folder)).filter((file) => ending.test(file) && !/_test\.\w+$/.test(file)).sort();
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

/** Result of one case. Ranks count from 1; null = not among the candidates that were run. */
export interface Result {
  readonly name: string;
  readonly kind: string;
  readonly rank: number | null;
  /** The same candidates in a random order. */
  readonly randomRank: number | null;
  /** The candidate that passed is the author's repair, letter by letter. */
  readonly exact: boolean;
  readonly operator: string | null;
  /** Candidates of the pool that parse. */
  readonly pool: number;
  /** Wall time of the first request, which searches, milliseconds. */
  readonly millis: number;
}

interface EvaluateOptions {
  readonly engine: Engine;
  readonly corpus: Corpus;
  /** Candidates that are run at most. */
  readonly tries: number;
  /** Also runs the same candidates in a random order, which requests the whole pool. */
  readonly baseline: boolean;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Asks the engine for candidates of one case and runs them until its tests pass. */
export async function evaluate(subject: Case, options: EvaluateOptions): Promise<Result> {
  const { runs } = await options.corpus.execute(subject, [], true);
  const localisation = localise(subject, runs);
  const started = options.now();
  const first = await generate(options.engine, requestOf(subject, localisation));
  const millis = options.now() - started;
  const all = await rest(options, subject, localisation, first);
  const ordered = all.slice(0, options.tries);
  const rank = await firstPassing(options.corpus, subject, ordered);
  const order = seededOrder(1);
  const shuffled = all.toSorted((a, b) => order(a.id) - order(b.id)).slice(0, options.tries);
  const randomRank = options.baseline ? await firstPassing(options.corpus, subject, shuffled) : null;
  const winner = rank === null ? undefined : ordered[rank - 1];
  const exact = winner !== undefined && patched(subject, winner) === subject.repaired;
  return { name: subject.name, kind: subject.kind, rank, randomRank, exact, operator: winner?.operator ?? null, pool: all.length, millis };
}

async function rest(options: EvaluateOptions, subject: Case, localisation: Localisation, first: Generated): Promise<readonly Candidate[]> {
  const all = [...first.candidates];
  let answer = first;
  while (!answer.exhausted && answer.candidates.length > 0 && (options.baseline || all.length < options.tries)) {
    const tried = all.map((candidate) => candidate.id);
    answer = await generate(options.engine, requestOf(subject, localisation, tried));
    all.push(...answer.candidates);
  }
  return all;
}

async function firstPassing(corpus: Corpus, subject: Case, candidates: readonly Candidate[]): Promise<number | null> {
  const texts = candidates.map((candidate) => patched(subject, candidate));
  const { passed } = await corpus.execute(subject, texts, true);
  const at = passed.indexOf(true);
  return at === -1 ? null : at + 1;
}

/** @throws Error when the engine refuses */
export async function generate(engine: Engine, request: GenerateRequest): Promise<Generated> {
  const [outcome] = await engine.generate([request], new AbortController().signal);
  if (outcome !== undefined && 'answer' in outcome) return outcome.answer;
  throw new Error('the engine refused the request', { cause: outcome?.error });
}

/** Asks for all candidates of one file. */
export function requestOf(
  subject: Pick<Case, 'name' | 'path' | 'source'>,
  localisation: Localisation,
  exclude: string[] = [],
): GenerateRequest {
  return {
    requestId: subject.name,
    role: 'Generalist',
    goal: 'Make the failing tests pass.',
    step: 0,
    grammar: 'Edit',
    files: [{ path: subject.path, content: subject.source }],
    localisation,
    k: generateBounds.maxCandidates,
    maxEdits: 1,
    exclude,
    seed: 0,
    budgetMillis: generateBounds.maxBudgetMillis,
  };
}

/** The file after a candidate, by the bytes of the wire, as a worker does it. */
export function patched(subject: Pick<Case, 'source'>, candidate: Candidate): string {
  let bytes = Buffer.from(subject.source);
  for (const { range, before, after } of candidate.edits.toReversed()) {
    const held = bytes.subarray(range.startByte, range.endByte).toString();
    if (held !== before) throw new Error(`${candidate.id}: the range holds ${JSON.stringify(held)}, not ${JSON.stringify(before)}`);
    bytes = Buffer.concat([bytes.subarray(0, range.startByte), Buffer.from(after), bytes.subarray(range.endByte)]);
  }
  return bytes.toString();
}
