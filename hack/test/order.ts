// hack, test: order of test files, longest first. May import any package.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Content of `test/seconds.json` about long files. */
export interface Seconds {
  /** Files that run alone: later ones would wait for them, and they for running ones. */
  readonly alone: readonly string[];
  readonly seconds: Readonly<Record<string, number>>;
}

export function readSeconds(): Seconds {
  return JSON.parse(readFileSync(`${root}test/seconds.json`, 'utf8')) as Seconds;
}

/** The names with the longest first, then all others as they were, and at the end those that run alone. */
export function longestFirst(names: readonly string[], { alone, seconds }: Seconds): readonly string[] {
  const weight = (name: string): number => (alone.includes(name) ? -1 : (seconds[name] ?? 0));
  const heavier = (a: string, b: string): number => (weight(a) === weight(b) ? 0 : weight(b) - weight(a));
  return names.toSorted(heavier);
}

/** Begins long files first, project by project. A clone knows no earlier run, by which Vitest itself would order them. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = readSeconds();
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...projects.values()].flatMap((specs) => {
      const byName = new Map(specs.map((spec) => [relative(root, spec.moduleId), spec]));
      return longestFirst([...byName.keys()], known).map((name) => byName.get(name)!);
    });
  }
}
