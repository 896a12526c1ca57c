import { newExecId, type ExecResult, type KeeperClient } from '@agentfleet/keeper/client';
import type { CoverageRun } from '@agentfleet/protocol/inference';
import { homeDir, workspaceDir, type ExecRequest } from '@agentfleet/protocol/keeper';
import type { ResultFormat } from '../checks/index.ts';
import { runsNode, runsPython } from './command.ts';
import { tracerProgram } from './program.ts';
import { fitting, readRecords } from './records.ts';

export interface CoverageOptions {
  readonly keeper: Pick<KeeperClient, 'run' | 'cancel' | 'readFile' | 'writeFile'>;
  /** The check's command as it is run to judge. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  /** What the baseline's output was; tells the language where the command does not. */
  readonly format?: ResultFormat;
  /** Told what the result lacks, in sentences. */
  readonly note?: (message: string) => void;
}

const folder = `${homeDir}/.agentfleet/trace`;
const library = `${folder}/lib`;
const output = `${folder}/out`;

/** Largest answer, as JSON. */
const maxBytes = 8 * 1024 * 1024;
const maxReadBytes = 64 * 1024 * 1024;

/**
 * Runs a check's command once and tells which lines of the workspace each test executed, ordered by test. Python, and
 * JavaScript and TypeScript on Node; other commands are not run and give no runs. Whether the command succeeds, fails, crashes or takes too long: what its
 * tests wrote until then is the answer. The tree is left as the command leaves it; the tracer is removed.
 *
 * Rejects with the keeper's refusals, and when the signal is aborted.
 */
export async function collectCoverage(options: CoverageOptions): Promise<readonly CoverageRun[]> {
  const { keeper, command, format, signal } = options;
  if (!runsPython(command, format) && !runsNode(command, format)) return [];
  signal.throwIfAborted();
  await remove(keeper);
  try {
    await install(keeper, signal);
    const { end } = await runToEnd(keeper, request(options), signal);
    const note = options.note ?? (() => undefined);
    if (end.timedOut) note(`the traced run took over ${options.timeoutSeconds} s: tests after that have no coverage`);
    return await read(keeper, note, signal);
  } finally {
    // Also after an abort: the next snapshot must not hold it. What cannot be removed is removed by the next run.
    await remove(keeper).catch(() => undefined);
  }
}

/** The folder above it goes, too, when nothing else is in it. */
const script = 'rm -rf "$0"; rmdir "${0%/*}" 2>/dev/null; true';

async function remove(keeper: CoverageOptions['keeper']): Promise<void> {
  await keeper.run({ execId: newExecId(), tool: 'ExecCode', argv: ['sh', '-c', script, folder] });
}

/** Runs a command; an abort ends it before it rejects, so that the tracer can be removed from under nothing. */
async function runToEnd(keeper: CoverageOptions['keeper'], body: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
  try {
    return await keeper.run(body, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    await keeper.cancel(body.execId);
    await keeper.run(body); // its execId is known: this follows it to its end
    throw error;
  }
}

async function install(keeper: CoverageOptions['keeper'], signal: AbortSignal): Promise<void> {
  for (const [path, content] of Object.entries(tracerProgram())) {
    signal.throwIfAborted();
    await keeper.writeFile(`${library}/${path}`, content);
  }
  await keeper.run({ execId: newExecId(), tool: 'ExecCode', argv: ['mkdir', '-p', output] }, signal);
}

/** What makes the interpreters load the tracer by themselves, also where a script or another program starts them. */
function tracing({ command, env, format }: CoverageOptions): Record<string, string> {
  const { PYTHONPATH: path = '', NODE_OPTIONS: flags = '' } = env;
  return {
    ...(runsPython(command, format) && { PYTHONPATH: path === '' ? library : `${library}:${path}` }),
    ...(runsNode(command, format) && { NODE_OPTIONS: `${flags} --import=${library}/node/tracer.mjs`.trim() }),
  };
}

function request(options: CoverageOptions): ExecRequest {
  const { command, env, cwd, timeoutSeconds } = options;
  return {
    execId: newExecId(),
    tool: 'ExecCode',
    argv: [...command],
    cwd,
    timeoutSeconds,
    redaction: 'Raw',
    env: {
      ...env,
      ...tracing(options),
      AGENTFLEET_TRACE_OUT: output,
      AGENTFLEET_TRACE_ROOT: workspaceDir,
    },
  };
}

async function read(
  keeper: CoverageOptions['keeper'],
  note: (message: string) => void,
  signal: AbortSignal,
): Promise<readonly CoverageRun[]> {
  const argv = ['sh', '-c', 'cd "$0" && for f in *.jsonl *.txt; do [ -f "$f" ] && wc -c "$f"; done; true', output];
  const listing = await keeper.run({ execId: newExecId(), tool: 'ExecCode', argv }, signal);
  const texts: string[] = [];
  let room = maxReadBytes;
  for (const line of listing.stdout.split('\n').sort()) {
    const [, size, name = ''] = /^ *(\d{1,15}) ((?:\d+\.jsonl)|(?:error-\d+\.txt))$/.exec(line) ?? [];
    if (size === undefined) continue;
    if (Number(size) > room) {
      note(`${name} of the tracer is too large and was left out`);
      continue;
    }
    room -= Number(size);
    signal.throwIfAborted();
    // A test may have put a link or a folder in its place, which the keeper refuses.
    const text = await keeper.readFile(`${output}/${name}`, 'Raw').then(String, () => '');
    if (name.endsWith('.jsonl')) texts.push(text);
    else note(`the tracer could not start: ${text.trim().split('\n').at(-1) ?? ''}`);
  }
  return bounded(texts, note);
}

function bounded(texts: readonly string[], note: (message: string) => void): readonly CoverageRun[] {
  const { runs, dropped, unreadable } = readRecords(texts);
  const { kept, left } = fitting(runs, maxBytes);
  if (dropped + left > 0) note(`${dropped + left} tests were left out, passing ones first: their lines are over ${maxBytes} bytes`);
  if (unreadable > 0) note(`${unreadable} records of the tracer cannot be read`);
  if (kept.length === 0) note('no test was traced: the command clears PYTHONPATH or NODE_OPTIONS, or runs no test that the tracer knows');
  return kept;
}
