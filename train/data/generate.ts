import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Grammars, installedGrammars, SynthEngine } from '../../inference-image/src/engines/synth/index.ts';
import { Random } from '../numeric/random.ts';
import { Judge } from './judge.ts';
import { mutate } from './mutate.ts';
import { readProblems, type Problem } from './problems.ts';
import { explore, type SearchOptions, type State } from './search.ts';

export const splits = ['train', 'calibration', 'heldOut'] as const;
export type Split = (typeof splits)[number];

/** A program with bugs, and all that was tried on it. */
export interface Subject {
  readonly problem: string;
  readonly split: Split;
  readonly bugs: readonly string[];
  readonly states: readonly State[];
}

export interface DataSet {
  readonly subjects: readonly Subject[];
  /** Part of the data that is committed. */
  readonly manifest: Readonly<Record<string, unknown>>;
}

interface DataOptions {
  readonly seed: number;
  /** Programs with bugs per problem. */
  readonly perProblem: number;
  /** Only so many problems; for a trial. */
  readonly problems?: number;
  readonly say: (text: string) => void;
}

/** Share of the programs with two bugs. */
const twoBugs = 0.35;

/**
 * Plants bugs in the problems, asks Synth for repairs, runs them. Split by problem: no problem of one part occurs in another.
 */
export async function generateData({ seed, perProblem, problems: limit, say }: DataOptions): Promise<DataSet> {
  const problems = (await readProblems()).slice(0, limit);
  const parts = assign(problems, new Random(seed));
  const judges = [new Judge(), new Judge()];
  const engine = new SynthEngine({ grammars: await Grammars.open(installedGrammars()), modelDigest: '', now: () => 0 });
  const found = new Map<Problem, readonly Subject[]>();
  const work = async (judge: Judge, lane: number): Promise<void> => {
    const search: SearchOptions = { engine, judge, candidates: [40, 24], branches: 1, maxDepth: 2 };
    for (let at = lane; at < problems.length; at += judges.length) {
      const problem = problems[at] as Problem;
      const part = parts.get(problem.name) ?? 'train';
      found.set(problem, await subjectsOf(problem, part, perProblem, new Random(seed + 1 + at), search));
      if (found.size % 20 === 0) say(`${found.size} of ${problems.length} problems`);
    }
  };
  try {
    await Promise.all(judges.map(work));
  } finally {
    await engine.close();
    await Promise.all(judges.map((judge) => judge.close()));
  }
  const subjects = problems.flatMap((problem) => found.get(problem) ?? []);
  refuseLeaks(subjects);
  return { subjects, manifest: manifestOf(subjects, problems, seed) };
}

/** Returns the data that a file keeps, or generates them; where a file is named, they are kept in it. */
export async function dataOf(file: string | undefined, options: DataOptions): Promise<DataSet> {
  if (file === undefined) return generateData(options);
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as DataSet;
  await mkdir(dirname(file), { recursive: true });
  const data = await generateData(options);
  await writeFile(file, JSON.stringify(data));
  return data;
}

function assign(problems: readonly Problem[], random: Random): ReadonlyMap<string, Split> {
  const order = random.shuffle(problems.map(({ name }) => name));
  const part = (at: number): Split => (at < 0.58 * order.length ? 'train' : at < 0.75 * order.length ? 'calibration' : 'heldOut');
  return new Map(order.map((name, at) => [name, part(at)]));
}

async function subjectsOf(problem: Problem, split: Split, count: number, random: Random, search: SearchOptions): Promise<Subject[]> {
  const expected = await search.judge.expected(problem);
  const found: Subject[] = [];
  const sources = new Set([problem.source]);
  const handMade = problem.handMade.map(({ before, after }) => ({
    kinds: ['by hand'],
    source: problem.source.replace(before, () => after),
  }));
  for (let attempt = 0; attempt < 12 * count && found.length < count; attempt += 1) {
    const planted = handMade[attempt] ?? plant(problem.source, random.next() < twoBugs ? 2 : 1, random);
    if (sources.has(planted.source)) continue;
    sources.add(planted.source);
    const states = await explore(problem, planted.source, expected, search);
    if (states.length > 0) found.push({ problem: problem.name, split, bugs: planted.kinds, states });
  }
  return found;
}

function plant(source: string, count: number, random: Random): { readonly kinds: readonly string[]; readonly source: string } {
  const kinds: string[] = [];
  let text = source;
  for (let attempt = 0; attempt < 60 && kinds.length < count; attempt += 1) {
    const bug = mutate(text, random);
    if (bug === null) continue;
    kinds.push(bug.kind);
    text = bug.source;
  }
  return { kinds, source: text };
}

/** @throws Error when one problem stands in two parts: its figures would be those of training */
export function refuseLeaks(subjects: readonly Pick<Subject, 'problem' | 'split'>[]): void {
  const parts = new Map<string, Split>();
  for (const { problem, split } of subjects) {
    const known = parts.get(problem) ?? split;
    if (known !== split) throw new Error(`${problem} is in ${known} and in ${split}; assign whole problems`);
    parts.set(problem, known);
  }
}

function manifestOf(subjects: readonly Subject[], problems: readonly Problem[], seed: number): DataSet['manifest'] {
  const counts = splits.map((split) => {
    const part = subjects.filter((subject) => subject.split === split);
    const tried = part.flatMap(({ states }) => states.flatMap((state) => state.tried));
    const right = tried.filter((one) => one.right).length;
    const counted = { problems: new Set(part.map(({ problem }) => problem)).size, programs: part.length, candidates: tried.length, right };
    return [split, counted] as const;
  });
  const digest = createHash('sha256').update(JSON.stringify(subjects)).digest('hex');
  return { seed, problems: problems.length, ...(Object.fromEntries(counts) as Record<Split, object>), digest: `sha256:${digest}` };
}
