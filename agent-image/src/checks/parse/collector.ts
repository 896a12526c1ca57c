import { createHash } from 'node:crypto';
import { noCounts, type Counts, type Outcome, type ParsedResults, type Problem, type ProblemCode, type TestResult } from '../results.ts';
import { shorten } from './text.ts';

/** More results than that are refused: no status or comparison could use them. */
export const maxTests = 200_000;
const maxProblems = 32;

export interface Found {
  readonly id: string;
  readonly outcome: Outcome;
  readonly kind?: TestResult['kind'];
  readonly message?: string;
  readonly seconds?: number;
}

/** Gathers what a parser finds, within bounds, and makes ids distinct. */
export class Collector {
  readonly #found: Found[] = [];
  readonly #problems: Problem[] = [];
  complete = true;
  evidence: ParsedResults['evidence'] = 'Tests';
  source: ParsedResults['source'] = 'Output';
  unnamed: Counts = noCounts;

  get size(): number {
    return this.#found.length;
  }

  get found(): readonly Found[] {
    return this.#found;
  }

  add(found: Found): void {
    if (this.#found.length < maxTests) this.#found.push(found);
    else this.distrust('TooLarge', `more than ${maxTests} results`, 'split the check');
  }

  note(code: ProblemCode, message: string, cure: string): void {
    this.#problem({ code, severity: 'Note', message, cure });
  }

  distrust(code: ProblemCode, message: string, cure: string): void {
    this.#problem({ code, severity: 'Distrust', message, cure });
  }

  incomplete(message: string, cure: string): void {
    this.complete = false;
    this.distrust('Incomplete', message, cure);
  }

  finish(format: ParsedResults['format']): ParsedResults {
    const { tests, repeated } = distinct(this.#found);
    if (repeated > 0) this.note('DuplicateId', `${repeated} results share an id with another one`, 'give tests distinct names');
    const { source, evidence, unnamed, complete } = this;
    return { format, source, evidence, tests, unnamed, complete, problems: this.#problems };
  }

  #problem(problem: Problem): void {
    const known = this.#problems.some(({ code, message }) => code === problem.code && message === problem.message);
    if (!known && this.#problems.length < maxProblems) this.#problems.push(problem);
  }
}

const order: Readonly<Record<Outcome, number>> = { Errored: 0, Failed: 0, Skipped: 1, Passed: 2 };

/**
 * Numbers results that share an id, failing ones first: then the same set of outcomes gives the same
 * list whatever order the tests ran in.
 */
function distinct(found: readonly Found[]): { readonly tests: TestResult[]; readonly repeated: number } {
  const groups = new Map<string, Found[]>();
  for (const one of found) {
    const id = boundedId(one.id);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [one]);
    else group.push(one);
  }
  const taken = new Set(groups.keys());
  const tests: TestResult[] = [];
  let repeated = 0;
  for (const [id, group] of groups) {
    let number = 1;
    for (const one of group.sort((a, b) => order[a.outcome] - order[b.outcome])) {
      let name = id;
      if (tests.length > 0 && number > 1) repeated += 1;
      while (number > 1 && taken.has((name = `${id} (${number})`))) number += 1;
      taken.add(name);
      number += 1;
      tests.push(testOf(name, one));
    }
  }
  return { tests, repeated };
}

function testOf(id: string, { outcome, kind, message, seconds }: Found): TestResult {
  return {
    id,
    outcome,
    kind: kind ?? 'Test',
    ...(message !== undefined && message !== '' && { message: shorten(message, 2000) }),
    ...(seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 && { seconds }),
  };
}

/** Long ids stay distinct: their end is replaced by a digest. */
function boundedId(id: string): string {
  const trimmed = id.trim();
  if (trimmed === '') return '(no name)';
  if (trimmed.length <= 1024) return trimmed;
  return `${shorten(trimmed, 1000)}#${createHash('sha256').update(trimmed).digest('hex').slice(0, 20)}`;
}
