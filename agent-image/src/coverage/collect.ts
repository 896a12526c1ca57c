import program from './program.json' with { type: 'json' };
import type { CoverageRun } from '@agentfleet/protocol/inference';
import { newExecId, type KeeperClient } from '@agentfleet/keeper/client';
import { homeDir, workspaceDir, type ExecRequest } from '@agentfleet/protocol/keeper';
import type { ResultFormat } from '../checks/index.ts';
import { basename } from 'node:path';
import { fieldsOf } from '@agentfleet/protocol/text';
import { jsonIn } from '../base/text.ts';

interface Language {
  readonly formats: readonly ResultFormat[];
  readonly program: RegExp;
  readonly file: RegExp;
}

const python: Language = {
  formats: ['Pytest', 'Unittest'],
  program: /^(?:python(?:\d+(?:\.\d+)*)?|pypy(?:\d+(?:\.\d+)*)?|pytest|py\.test|pytest-\d+|tox|nox|trial|nose2)$/,
  file: /\.py$/,
};

/** JavaScript or TypeScript. */
const node: Language = {
  formats: ['NodeTest'],
  program: /^(?:node(?:js)?|npm|npx|pnpm|pnpx|yarn|corepack|mocha|ava|tap|tape|uvu|c8|nyc)$/,
  file: /\.[cm]?[jt]s$/,
};

/** Formats that tell the language. */
const telling = /^(?:GoTest|CargoTest|Pytest|Unittest|NodeTest)$/;

function runs({ formats, program, file }: Language, command: readonly string[], format?: ResultFormat): boolean {
  if (format !== undefined && telling.test(format)) return formats.includes(format);
  // A shell's command line is one word.
  return command.flatMap((word) => word.split(/[\s;&|()"'=]+/)).some((word) => program.test(basename(word)) || file.test(word));
}

/**
 * Reports whether a check's command runs Python tests: by its baseline's output or a word of the command. A command
 * that hides it (`make test`) is only known by its format.
 */
export const runsPython = (command: readonly string[], format?: ResultFormat): boolean => runs(python, command, format);

type Covered = CoverageRun['covered'];

interface Merged {
  outcome: CoverageRun['outcome'] | null;
  readonly lines: Map<string, Set<number>>;
}

/** Bounds of the records, those of {@link CoverageRun}; a test can write into these files, so that nothing in them is trusted. */
const bounds = { test: 512, path: 1024, files: 4096, lines: 100_000 } as const;

/**
 * Reads the tracer's files, in any order: the result is ordered by test, path and line. A test that ran twice, or in
 * several processes, is one run with the lines of all; it failed when it failed once.
 */
export function readRecords(texts: readonly string[]): readonly CoverageRun[] {
  const tests = new Map<string, Merged>();
  for (const line of texts.flatMap((text) => text.split('\n'))) {
    const record = parse(line);
    if (record !== null) merge(tests, record);
  }
  const runs = [...tests].flatMap(([test, { outcome, lines }]): CoverageRun[] =>
    outcome === null ? [] : [{ test, outcome, covered: sorted(lines) }],
  );
  return runs.sort((a, b) => (a.test < b.test ? -1 : 1));
}

interface TestRecord {
  readonly test: string;
  readonly outcome: CoverageRun['outcome'] | null;
  readonly covered: Covered;
}

/** A record; null for what is torn by a crash, or written by a test. */
function parse(line: string): TestRecord | null {
  const { test, outcome, part, covered } = fieldsOf(jsonIn(line));
  if (typeof test !== 'string' || test === '' || test.length > bounds.test || !Array.isArray(covered)) return null;
  if (!(covered.length <= bounds.files && covered.every(isCovered))) return null;
  if (part === true) return { test, outcome: null, covered };
  return outcome === 'Passed' || outcome === 'Failed' ? { test, outcome, covered } : null;
}

function isCovered(value: unknown): value is Covered[number] {
  const { path, lines } = fieldsOf(value);
  if (typeof path !== 'string' || path === '' || path.length > bounds.path) return false;
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) return false;
  if (!Array.isArray(lines) || lines.length > bounds.lines) return false;
  return lines.every((line) => Number.isSafeInteger(line) && Number(line) > 0);
}

function merge(tests: Map<string, Merged>, { test, outcome, covered }: TestRecord): void {
  const known = tests.get(test) ?? { outcome: null, lines: new Map<string, Set<number>>() };
  tests.set(test, known);
  if (outcome !== null && known.outcome !== 'Failed') known.outcome = outcome;
  for (const { path, lines } of covered) {
    const numbers = known.lines.get(path) ?? new Set<number>();
    known.lines.set(path, numbers);
    for (const line of lines) numbers.add(line);
  }
}

function sorted(lines: ReadonlyMap<string, ReadonlySet<number>>): Covered {
  return [...lines]
    .map(([path, numbers]) => ({ path, lines: [...numbers].sort((a, b) => a - b).slice(0, bounds.lines) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .slice(0, bounds.files);
}

export interface CoverageOptions {
  readonly keeper: Pick<KeeperClient, 'run' | 'cancel' | 'readFile' | 'writeFile'>;
  /** The check's command as it is run to judge. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  /** Format of the baseline's output; gives the language where the command does not. */
  readonly format?: ResultFormat;
}

const folder = `${homeDir}/.agentfleet/trace`;
const library = `${folder}/lib`;
const output = `${folder}/out`;

const maxReadBytes = 64 * 1024 * 1024;

/**
 * Runs a check's command once and returns the lines of the workspace that each test executed, ordered by test. Python,
 * and JavaScript and TypeScript on Node; other commands are not run and give no runs. If the command fails, crashes or
 * takes too long, the records until then are returned. The tree is left as the command leaves it; the tracer is
 * removed.
 *
 * Rejects with the keeper's refusals, and when the signal is aborted.
 */
export async function collectCoverage(options: CoverageOptions): Promise<readonly CoverageRun[]> {
  const { keeper, command, format, signal } = options;
  if (!runsPython(command, format) && !runs(node, command, format)) return [];
  signal.throwIfAborted();
  await remove(keeper);
  try {
    await install(keeper, signal);
    await runToEnd(keeper, request(options), signal);
    return readRecords(await read(keeper, signal));
  } finally {
    // Also after an abort: the next snapshot must not hold it. A failed removal is repeated by the next run.
    await remove(keeper).catch(() => undefined);
  }
}

/** The folder above it is removed, too, when it is empty. */
const script = 'rm -rf "$0"; rmdir "${0%/*}" 2>/dev/null; true';

async function remove(keeper: CoverageOptions['keeper']): Promise<void> {
  await keeper.run({ execId: newExecId(), tool: 'ExecCode', argv: ['sh', '-c', script, folder] });
}

/** Runs a command; an abort ends it before it rejects, so that the tracer can be removed from under nothing. */
async function runToEnd(keeper: CoverageOptions['keeper'], body: ExecRequest, signal: AbortSignal): Promise<void> {
  try {
    await keeper.run(body, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    await keeper.cancel(body.execId);
    await keeper.run(body); // its execId is known: this follows it to its end
    throw error;
  }
}

/** `program.json` is path → content, made from `python/` and `node/` by `npm run generate`: a bundled worker has no files beside it. */
async function install(keeper: CoverageOptions['keeper'], signal: AbortSignal): Promise<void> {
  for (const [path, content] of Object.entries(program)) {
    signal.throwIfAborted();
    await keeper.writeFile(`${library}/${path}`, content);
  }
  await keeper.run({ execId: newExecId(), tool: 'ExecCode', argv: ['mkdir', '-p', output] }, signal);
}

/** Returns the variables by which interpreters load the tracer, also where a script or another program starts them. */
function tracing({ command, env, format }: CoverageOptions): Record<string, string> {
  const { PYTHONPATH: path = '', NODE_OPTIONS: flags = '' } = env;
  return {
    ...(runsPython(command, format) && { PYTHONPATH: path === '' ? library : `${library}:${path}` }),
    ...(runs(node, command, format) && { NODE_OPTIONS: `${flags} --import=${library}/node/tracer.mjs`.trim() }),
  };
}

function request(options: CoverageOptions): ExecRequest {
  const { command, cwd, timeoutSeconds } = options;
  const env = { ...options.env, ...tracing(options), AGENTFLEET_TRACE_OUT: output, AGENTFLEET_TRACE_ROOT: workspaceDir };
  return { execId: newExecId(), tool: 'ExecCode', argv: [...command], cwd, timeoutSeconds, redaction: 'Raw', env };
}

/** The records of each process. One that is too large is left out. */
async function read(keeper: CoverageOptions['keeper'], signal: AbortSignal): Promise<readonly string[]> {
  const argv = ['sh', '-c', 'cd "$0" && for f in *.jsonl; do [ -f "$f" ] && wc -c "$f"; done; true', output];
  const listing = await keeper.run({ execId: newExecId(), tool: 'ExecCode', argv }, signal);
  const texts: string[] = [];
  let room = maxReadBytes;
  for (const line of listing.stdout.split('\n').sort()) {
    const [, size, name = ''] = /^ *(\d{1,15}) (\d+\.jsonl)$/.exec(line) ?? [];
    if (size === undefined || Number(size) > room) continue;
    room -= Number(size);
    signal.throwIfAborted();
    // A test may have put a link or a folder in its place, which the keeper refuses.
    texts.push(await keeper.readFile(`${output}/${name}`, 'Raw').then(String, () => ''));
  }
  return texts;
}
