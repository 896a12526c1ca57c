// train, data: small programs with calls and planted bugs, read from `problems/`. May import inference-image, eval and protocol.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A small program of our own with calls to it. The program is its own specification. */
export interface Problem {
  readonly name: string;
  readonly topic: string;
  readonly source: string;
  /** Arguments as Python. Every other call is a test that the repair sees; the others judge it. */
  readonly calls: readonly string[];
  /** Bugs that were planted by hand. */
  readonly handMade: readonly { readonly before: string; readonly after: string }[];
}

/**
 * The problems of `problems/`, by name. A paragraph is one: the function, then `#> arguments ;; arguments` and
 * `#~ text ==> text with a bug`.
 */
export async function readProblems(): Promise<readonly Problem[]> {
  const folder = join(import.meta.dirname, 'problems');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.py')).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  const problems = texts.flatMap((text, at) =>
    text
      .trim()
      .split(/\n\n+/)
      .map((paragraph) => problemOf(paragraph, (files[at] ?? '').replace('.py', ''))),
  );
  const names = new Set(problems.map(({ name }) => name));
  if (names.size !== problems.length) throw new Error('two problems have one name; rename one of them');
  return problems.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function problemOf(paragraph: string, topic: string): Problem {
  const [code = '', ...notes] = paragraph.split(/\n(?=#[>~] )/);
  const name = /^def (\w+)/.exec(code)?.[1];
  const calls = notes.filter((note) => note.startsWith('#> ')).flatMap((note) => note.slice(3).split(' ;; '));
  if (name === undefined || calls.length < 4) throw new Error(`${topic}.py: a paragraph is no problem: ${code.slice(0, 40)}`);
  const source = `${code}\n`;
  const handMade = notes.filter((note) => note.startsWith('#~ ')).map((note) => bugOf(note.slice(3), source, name));
  return { name, topic, source, calls: calls.map((call) => call.trim()), handMade };
}

function bugOf(note: string, source: string, name: string): Problem['handMade'][number] {
  const [before = '', after = ''] = note.split(' ==> ');
  if (!source.includes(before)) throw new Error(`${name}: the text of its bug is not in it: ${before}`);
  return { before, after };
}
