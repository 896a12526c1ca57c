import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const halves = ['dev', 'heldout'] as const;
export type Half = (typeof halves)[number];

/** A small program with one planted bug, its tests, and the author's own repair. */
export interface Case {
  readonly name: string;
  readonly kind: string;
  readonly source: string;
  readonly tests: string;
  readonly repaired: string;
}

interface Answer {
  readonly kind: string;
  readonly before: string;
  readonly after: string;
}

/** The cases of one half, by name. The engine never sees `answers.json`. */
export async function readCases(half: Half): Promise<readonly Case[]> {
  const folder = join(import.meta.dirname, '../testdata', half);
  const answers = JSON.parse(await readFile(join(folder, 'answers.json'), 'utf8')) as Readonly<Record<string, Answer>>;
  const names = (await readdir(folder))
    .filter((file) => file.endsWith('.py') && !file.endsWith('_test.py'))
    .map((file) => file.slice(0, -3));
  return Promise.all(names.sort().map((name) => readCase(folder, name, answers[name])));
}

async function readCase(folder: string, name: string, answer: Answer | undefined): Promise<Case> {
  if (answer === undefined) throw new Error(`${folder}/answers.json: nothing about ${name}`);
  const source = await readFile(join(folder, `${name}.py`), 'utf8');
  const tests = await readFile(join(folder, `${name}_test.py`), 'utf8');
  return { name, kind: answer.kind, source, tests, repaired: source.replace(answer.before, () => answer.after) };
}
