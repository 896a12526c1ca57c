import { posix } from 'node:path';

/** `import … from 'x'`, `export … from 'x'`, `import 'x'`, `import('x')`, `require('x')`: the module names of a source text. */
const specifier = /(?:\bfrom\s*|\bimport\s*(?:\(\s*)?|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g;

/** What a module name may stand for; TypeScript is imported by the name of what it is compiled to. */
const endings = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.jsx', '/index.ts', '/index.js'] as const;
const compiled: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/** Whether a file is read for its imports. */
export function hasImports(path: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(path);
}

/** Files of the tree that a JavaScript or TypeScript file imports by relative names; names of packages are left out. */
export function importsOf(path: string, text: string, tree: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>();
  for (const [, , name = ''] of text.matchAll(specifier)) {
    if (!name.startsWith('.')) continue;
    const target = resolved(posix.join(posix.dirname(path), name), tree);
    if (target !== null) found.add(target);
  }
  return [...found];
}

function resolved(base: string, tree: ReadonlySet<string>): string | null {
  const direct = endings.map((ending) => `${base}${ending}`);
  const extension = posix.extname(base);
  const sources = (compiled[extension] ?? []).map((other) => `${base.slice(0, -extension.length)}${other}`);
  return [...direct, ...sources].find((path) => tree.has(path)) ?? null;
}

/** Most files that are read to follow imports. */
const maxRead = 64;

/**
 * What test files import, and what that imports, nearest first. Not what ran: what could have run.
 *
 * @param read text of a file; null where there is none
 * @returns paths with their distance from a test, from 1
 */
export async function reachable(
  tests: readonly string[],
  tree: ReadonlySet<string>,
  read: (path: string) => Promise<string | null>,
): Promise<ReadonlyMap<string, number>> {
  const distances = new Map<string, number>(tests.map((path) => [path, 0]));
  const queue = tests.filter(hasImports);
  for (let at = 0; at < queue.length && at < maxRead; at += 1) {
    const path = queue[at] as string;
    const text = await read(path);
    for (const next of text === null ? [] : importsOf(path, text, tree)) {
      if (distances.has(next)) continue;
      distances.set(next, (distances.get(path) ?? 0) + 1);
      if (hasImports(next)) queue.push(next);
    }
  }
  for (const path of tests) distances.delete(path);
  return distances;
}
