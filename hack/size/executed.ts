// hack, size: source files that one task loads and executes. May import any package.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { isSource, packageOf } from './measure.ts';

/** A small program with a bug that the search repairs in a few seconds, the same in all commits since the pack was added. */
const task = ['repair', '--only', 'js-query/fragment-and-escape', '--sample', '1', '--parallel', '1', '--tool-calls', '150'];

/** One script of one process, as V8 writes it. */
interface Script {
  readonly url: string;
  readonly functions: readonly { readonly functionName: string; readonly ranges: readonly { startOffset: number; count: number }[] }[];
}

/** Source files of a checkout that one task loads, and those of them of which it runs a function. */
export interface Executed {
  readonly loaded: ReadonlySet<string>;
  readonly ran: ReadonlySet<string>;
}

/**
 * Returns how often each function of each script ran, by path below `root`; the module itself and static fields are no
 * functions.
 */
function countsOf(scripts: readonly Script[], root: string): Map<string, Map<string, number>> {
  const files = new Map<string, Map<string, number>>();
  for (const { url, functions } of scripts.filter((each) => each.url.startsWith('file:'))) {
    const path = relative(root, fileURLToPath(url));
    if (path.startsWith('..') || !isSource(path)) continue;
    const counts = new Map<string, number>();
    for (const { functionName, ranges } of functions) {
      const { startOffset, count } = ranges[0] ?? { startOffset: 0, count: 0 };
      if (startOffset > 0 && functionName !== '<static_initializer>') counts.set(`${functionName}@${startOffset}`, count);
    }
    files.set(path, counts);
  }
  return files;
}

/**
 * Compares processes that did a task with one that only imported their modules: a file ran when one of its functions was called
 * more often in some process than importing alone calls it. Pure.
 */
export function executedIn(processes: readonly (readonly Script[])[], imported: readonly Script[], root: string): Executed {
  const before = countsOf(imported, root);
  const [loaded, ran] = [new Set<string>(), new Set<string>()];
  for (const [path, counts] of processes.flatMap((scripts) => [...countsOf(scripts, root)])) {
    loaded.add(path);
    if ([...counts].some(([name, count]) => count > (before.get(path)?.get(name) ?? 0))) ran.add(path);
  }
  return { loaded, ran };
}

/** Runs a command and returns the scripts that its node processes covered. */
async function covered(root: string, args: readonly string[], folder: string): Promise<Script[][]> {
  const env = { NODE_V8_COVERAGE: folder, AGENTFLEET_CHECKOUT: root };
  const { stdout } = await execa(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], { cwd: root, env });
  if (stdout !== '') console.error(stdout.split('\n')[0]);
  const files = (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8'));
  return (await Promise.all(files)).map((text) => (JSON.parse(text) as { result: Script[] }).result);
}

/**
 * Runs one task of the pack `repair` by the local pool of a checkout, whose packages are installed, and returns the
 * executed code.
 */
export async function executed(root: string): Promise<Executed> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-executed-'));
  try {
    const out = ['--out', join(folder, 'results')];
    const processes = await covered(root, [join('cli', 'src', 'main.ts'), 'eval', 'run', ...task, ...out], join(folder, 'task'));
    const { loaded } = executedIn(processes, [], root);
    // Modules that start a program or a thread when imported are left out: their functions count whenever they run.
    const modules = [...loaded].filter((path) => !/(?:^|\/)(?:main|thread)\.ts$/u.test(path));
    const urls = modules.map((path) => pathToFileURL(join(root, path)).href);
    const script = `await Promise.allSettled(${JSON.stringify(urls)}.map((url) => import(url)))`;
    const [imported = []] = await covered(root, ['--input-type=module', '-e', script], join(folder, 'import'));
    return executedIn(processes, imported, root);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A Markdown table: a row for each package, and for each checkout how many files ran of those that were loaded. */
export function executedTable(columns: ReadonlyMap<string, Executed>): string {
  const all = [...columns.values()];
  const packages = [...new Set(all.flatMap(({ loaded }) => [...loaded].map(packageOf)))].sort();
  const cell = (name: string | undefined, paths: ReadonlySet<string>): number =>
    [...paths].filter((path) => name === undefined || packageOf(path) === name).length;
  const row = (name: string | undefined): string =>
    `| ${[name ?? 'all', ...all.map(({ loaded, ran }) => `${cell(name, ran)} of ${cell(name, loaded)}`)].join(' | ')} |`;
  const head = [`| files that ran, of those loaded | ${[...columns.keys()].join(' | ')} |`, `|---|${'---:|'.repeat(all.length)}`];
  return [...head, row(undefined), ...packages.map(row)].join('\n');
}
