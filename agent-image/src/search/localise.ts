import { posix } from 'node:path';
import {
  type Spectrum,
  generateBounds,
  spectrumFromRuns,
  type CoverageRun,
  type FailingTest,
  type FocusFile,
  type Localisation,
} from '@agentfleet/protocol/inference';
import { isUtf8 } from 'node:buffer';
import { isCommandCheck } from '@agentfleet/protocol/api';
import { namingEnvironment, wholeRun } from '../checks/index.ts';
import { type Baseline, tail, timeoutOf, type Ran } from '../attempt/checkRun.ts';
import { moduleFiles } from '../features/javascript/surface.ts';
import { domainOf, isForeign, mainDomain } from '../features/languages.ts';
import type { Scope } from '../attempt/scope.ts';

/** `import … from 'x'`, `export … from 'x'`, `import 'x'`, `import('x')`, `require('x')`: the module names of a source text. */
const specifier = /(?:\bfrom\s*|\bimport\s*(?:\(\s*)?|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g;

function hasImports(path: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(path);
}

/** Files of the tree that a JavaScript or TypeScript file imports by relative names; names of packages are left out. */
export function importsOf(path: string, text: string, tree: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>();
  for (const [, , name = ''] of text.matchAll(specifier)) {
    if (!name.startsWith('.')) continue;
    const target = moduleFiles(posix.join(posix.dirname(path), name)).find((file) => tree.has(file));
    if (target !== undefined) found.add(target);
  }
  return [...found];
}

const maxRead = 64;

/**
 * Returns the direct and indirect imports of test files, nearest first: files that could have run, not those that did.
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

/**
 * Returns the suspicion of a line, 0…1, by the spectrum of failing and passing tests: Ochiai, failed ⁄ √(allFailed ·
 * executed) (R. Abreu et al., TAIC PART 2007). Null for lines that no test executed, and where nothing was measured.
 */
export function suspicionOf({ failed, lines }: Spectrum): (path: string, line: number) => number | null {
  const counts = new Map(lines.map((one) => [`${one.line}:${one.path}`, one]));
  return (path, line) => {
    const count = counts.get(`${line}:${path}`);
    if (count === undefined || failed === 0) return null;
    const executed = count.passed + count.failed;
    return executed === 0 ? 0 : Math.min(1, count.failed / Math.sqrt(failed * executed));
  };
}

/** Places for edits. */
export interface Focus {
  readonly domain: string;
  readonly files: readonly FocusFile[];
  readonly localisation: Localisation;
  /** Returns the suspicion of a line, 0…1; null: unknown. */
  readonly suspicion: (path: string, line: number) => number | null;
}

const maxTests = 64;
const maxTrace = 16_384;
const maxTotalChars = 4 * 1024 * 1024;
const maxCoverageSeconds = 120;

/**
 * Returns the files that candidates may edit, most suspicious first, and the evidence for them. The tree is the current
 * node's; the caller reverts changes of the coverage run.
 *
 * @param runs the newest run of each check that fails
 */
export async function localise(scope: Scope, baseline: Baseline, runs: readonly Ran[]): Promise<Focus> {
  const covered = await coverage(scope, baseline, runs);
  const spectrum = spectrumFromRuns(covered);
  const weights = suspicion(covered);
  const open = baseline.tree.filter((path) => domainOf(path) !== null && !isForeign(path) && mayEdit(path, baseline));
  const reached = open.filter((path) => weights.has(path));
  const hints = reached.length > 0 ? { paths: reached, weights } : await hinted(scope, baseline, open, runs);
  const domain = mainDomain(hints.paths.map((path) => [path, hints.weights.get(path) ?? 1]));
  const score = (path: string): number => (domainOf(path) === domain ? 2 : 0) + (hints.weights.get(path) ?? 0);
  const programs = await readFiles(
    scope,
    hints.paths.toSorted((a, b) => score(b) - score(a) || (a < b ? -1 : 1)),
  );
  const files = programs.length > 0 ? programs : await readFiles(scope, others(baseline, runs));
  const lines = new Map(files.map(({ path, content }) => [path, content.split('\n').length]));
  const measured = { ...spectrum, lines: spectrum.lines.filter(({ path, line }) => line <= (lines.get(path) ?? 0)) };
  const localisation = { spectrum: measured, failingTests: failingTests(runs) };
  return { domain, files, localisation, suspicion: suspicionOf(measured) };
}

/**
 * Returns files that are no programs, those named by a failing run first: data, configuration, texts. Where there is no
 * program to edit, as in an empty workspace, an expert that acts may still have a proposal.
 */
function others(baseline: Baseline, runs: readonly Ran[]): readonly string[] {
  const output = runs.map((run) => run.output).join('\n');
  const open = baseline.tree.filter((path) => domainOf(path) === null && !isForeign(path) && mayEdit(path, baseline));
  return open.toSorted((a, b) => Number(output.includes(b)) - Number(output.includes(a)) || (a < b ? -1 : 1));
}

/**
 * Returns places without coverage: files that failing runs name, as in a stack trace, and those that test files import,
 * the nearest first. Without either, all of them. Weights are 0…2.
 */
async function hinted({ session }: Scope, { tree, protectedSet }: Baseline, open: readonly string[], runs: readonly Ran[]) {
  const output = runs.map((run) => run.output).join('\n');
  const tests = tree.filter((path) => !isForeign(path) && protectedSet.why(path)?.kind === 'Test');
  const failing = tests.filter((path) => output.includes(path));
  const read = async (path: string): Promise<string | null> => (await session.read(path))?.toString('utf8') ?? null;
  const distances = await reachable(failing.length > 0 ? failing : tests, new Set(tree), read);
  const weights = new Map<string, number>();
  for (const path of open) {
    const distance = distances.get(path);
    const weight = (output.includes(path) ? 1 : 0) + (distance === undefined ? 0 : 1 / distance);
    if (weight > 0) weights.set(path, weight);
  }
  return weights.size > 0 ? { paths: [...weights.keys()], weights } : { paths: open, weights };
}

function mayEdit(path: string, { protectedSet }: Baseline): boolean {
  return protectedSet.why(path) === null && !protectedSet.derived(path);
}

async function coverage(
  { context, session, meter, options }: Scope,
  { checks }: Baseline,
  runs: readonly Ran[],
): Promise<readonly CoverageRun[]> {
  const all: CoverageRun[] = [];
  for (const { check, format } of checks.filter((one) => runs.some((run) => run.check === one.check.name))) {
    if (!isCommandCheck(check)) continue;
    meter.add('toolCalls');
    const timeoutSeconds = Math.min(timeoutOf(check, context.task), maxCoverageSeconds);
    const { keeper, signal } = context;
    const request = { keeper, command: check.command, env: namingEnvironment, cwd: session.root.path, format, timeoutSeconds, signal };
    try {
      const skipped = skippedIn(runs, check.name);
      all.push(...(await options.collectCoverage(request)).filter(({ test }) => !skipped.has(test)));
    } catch (error) {
      signal.throwIfAborted();
      // The search is only less focused without it.
      context.log.warn('no coverage of a check', { check: check.name, error: error instanceof Error ? error.message : String(error) });
      await session.quieten();
    }
  }
  return all;
}

/** A failing todo runs and is traced, but must not be repaired. */
function skippedIn(runs: readonly Ran[], check: string): ReadonlySet<string> {
  const tests = runs.filter((run) => run.check === check).flatMap(({ results }) => results.tests);
  return new Set(tests.filter(({ outcome }) => outcome === 'Skipped').map(({ id }) => id));
}

/** Weight of each file that a failing test executes: the share of the failing tests that do (0…1). */
function suspicion(runs: readonly CoverageRun[]): ReadonlyMap<string, number> {
  const failed = runs.filter(({ outcome }) => outcome === 'Failed');
  const weights = new Map<string, number>();
  for (const { covered } of failed)
    for (const path of new Set(covered.map((one) => one.path))) weights.set(path, (weights.get(path) ?? 0) + 1 / failed.length);
  return weights;
}

async function readFiles({ session }: Scope, paths: readonly string[]): Promise<readonly FocusFile[]> {
  const files: FocusFile[] = [];
  let total = 0;
  for (const path of paths) {
    if (files.length === generateBounds.maxFiles || total > maxTotalChars) break;
    const bytes = await session.read(path);
    if (bytes === null || bytes.length === 0 || bytes.length > generateBounds.maxFileChars || !isUtf8(bytes)) continue;
    const content = bytes.toString('utf8');
    total += content.length;
    files.push({ path, content });
  }
  return files;
}

/** The failing tests in the words of their runner; the command as a whole when it names none. */
export function failingTests(runs: readonly Ran[]): FailingTest[] {
  return runs.flatMap(testsOf).slice(0, maxTests);
}

/** The failing tests that a runner names; groups and the run as a whole are none. */
export function failingIn({ tests }: Ran['results']): Ran['results']['tests'] {
  return tests.filter(({ kind, outcome, id }) => kind !== 'Group' && id !== wholeRun && (outcome === 'Failed' || outcome === 'Errored'));
}

function testsOf({ results, output }: Ran): FailingTest[] {
  const failing = failingIn(results);
  const trace = tail(output, maxTrace);
  if (failing.length === 0) return [{ id: wholeRun, message: tail(output, 2000), trace }];
  return failing.slice(0, maxTests).map(({ id, message = '' }, at) => ({ id: id.slice(0, 512), message, ...(at === 0 && { trace }) }));
}
