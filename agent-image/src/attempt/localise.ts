import { isUtf8 } from 'node:buffer';
import {
  generateBounds,
  spectrumFromRuns,
  type CoverageRun,
  type FailingTest,
  type FocusFile,
  type Localisation,
} from '@agentfleet/protocol/inference';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { namingEnvironment, wholeRun } from '../checks/index.ts';
import type { Baseline } from './baseline.ts';
import { tail, timeoutOf, type Ran } from './checkRun.ts';
import { domainOf, mainDomain } from './languages.ts';
import type { Scope } from './scope.ts';

/** Where to look, and who is asked. */
export interface Focus {
  readonly expert: ExpertEndpoint;
  readonly files: readonly FocusFile[];
  readonly localisation: Localisation;
}

const maxTests = 64;
const maxTrace = 16_384;
const maxTotalChars = 4 * 1024 * 1024;
const maxCoverageSeconds = 120;

/**
 * The files that candidates may edit, most suspicious first, and what points to them. The tree is the one of the node that
 * is worked on; whoever calls puts back what the coverage run leaves behind.
 *
 * @param runs the newest run of each check that fails
 */
export async function localise(scope: Scope, baseline: Baseline, runs: readonly Ran[]): Promise<Focus | null> {
  const covered = await coverage(scope, baseline, runs);
  const spectrum = spectrumFromRuns(covered);
  const weights = suspicion(covered);
  const open = baseline.tree.filter((path) => domainOf(path) !== null && mayEdit(path, baseline));
  const reached = open.filter((path) => weights.has(path));
  const expert = scope.context.experts.choose(
    mainDomain((reached.length > 0 ? reached : open).map((path) => [path, weights.get(path) ?? 1])),
  );
  const mentioned = runs.map(({ output }) => output).join('\n');
  const score = (path: string): number => (weights.get(path) ?? 0) + (knows(expert, path) ? 2 : 0) + (mentioned.includes(path) ? 1 : 0);
  const ordered = open.toSorted((a, b) => score(b) - score(a) || (a < b ? -1 : 1));
  const files = await readFiles(scope, reached.length > 0 ? ordered.filter((path) => weights.has(path)) : ordered);
  if (files.length === 0) return null;
  const lines = new Map(files.map(({ path, content }) => [path, content.split('\n').length]));
  const inFiles = spectrum.lines.filter(({ path, line }) => line <= (lines.get(path) ?? 0));
  return { expert, files, localisation: { spectrum: { ...spectrum, lines: inFiles }, failingTests: failingTests(runs) } };
}

function mayEdit(path: string, { protectedSet }: Baseline): boolean {
  return protectedSet.why(path) === null && !protectedSet.derived(path);
}

const knows = ({ domains }: ExpertEndpoint, path: string): boolean => domains.includes('*') || domains.includes(domainOf(path) ?? '');

async function coverage(
  { context, hands, meter, options }: Scope,
  { checks }: Baseline,
  runs: readonly Ran[],
): Promise<readonly CoverageRun[]> {
  const all: CoverageRun[] = [];
  for (const { check, format } of checks.filter((one) => runs.some((run) => run.check === one.check.name))) {
    meter.add('toolCalls');
    const timeoutSeconds = Math.min(timeoutOf(check, context.task), maxCoverageSeconds);
    const { keeper, signal } = context;
    const request = { keeper, command: check.command, env: namingEnvironment({}), cwd: hands.root.path, format, timeoutSeconds, signal };
    try {
      all.push(...(await options.collectCoverage(request)));
    } catch (error) {
      signal.throwIfAborted();
      // The search is only less focused without it.
      context.log.warn('no coverage of a check', { check: check.name, error: error instanceof Error ? error.message : String(error) });
      await hands.quieten();
    }
  }
  return all;
}

/** Weight of each file that a failing test executes: the share of the failing tests that do (0…1). */
function suspicion(runs: readonly CoverageRun[]): ReadonlyMap<string, number> {
  const failed = runs.filter(({ outcome }) => outcome === 'Failed');
  const weights = new Map<string, number>();
  for (const { covered } of failed)
    for (const path of new Set(covered.map((one) => one.path))) weights.set(path, (weights.get(path) ?? 0) + 1 / failed.length);
  return weights;
}

async function readFiles({ hands }: Scope, paths: readonly string[]): Promise<readonly FocusFile[]> {
  const files: FocusFile[] = [];
  let total = 0;
  for (const path of paths) {
    if (files.length === generateBounds.maxFiles || total > maxTotalChars) break;
    const bytes = await hands.read(path);
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

function testsOf({ results, output }: Ran): FailingTest[] {
  const failing = results.tests.filter(
    ({ kind, outcome, id }) => kind !== 'Group' && id !== wholeRun && (outcome === 'Failed' || outcome === 'Errored'),
  );
  const trace = tail(output, maxTrace);
  if (failing.length === 0) return [{ id: wholeRun, message: tail(output, 2000), trace }];
  return failing.slice(0, maxTests).map(({ id, message = '' }, at) => ({ id: id.slice(0, 512), message, ...(at === 0 && { trace }) }));
}
