import { Redaction } from '@agentfleet/protocol/redact';
import { defaultStepTimeoutSeconds, isArtifactCheck, isCommandCheck, type AgentTask, type Check } from '@agentfleet/protocol/api';
import { namingEnvironment, parseResults, reportFiles, type CheckRun, type ResultFormat } from '../checks/index.ts';
import { runArtifact } from './artifactRun.ts';
import type { SandboxSession } from './sandboxSession.ts';
import type { Reach } from './reach.ts';

/** A run of a check, with what it said. */
export interface Ran extends CheckRun {
  /** The end of both outputs: where to look for the place of a failure. */
  readonly output: string;
  readonly millis: number;
}

/** Report files of all checks; those outside the workspace cannot be read and prove nothing. */
export interface CheckRunner {
  readonly session: SandboxSession;
  readonly task: AgentTask;
  /** What checks may reach. */
  readonly reach: Reach | null;
  /** Report files that scripts of the checks write, from the protected set. */
  readonly reports: readonly string[];
}

const maxOutput = 32_768;

/** Wall time of a set-up step or a check, seconds. */
export function timeoutOf(step: { readonly timeoutSeconds?: number }, task: AgentTask): number {
  return step.timeoutSeconds ?? Math.min(defaultStepTimeoutSeconds, task.spec.deadlineSeconds);
}

/**
 * Runs a check once on the tree as it is: reports of earlier runs are deleted before it, and its results are read. Of an
 * Artifact the file is looked at, and nothing is deleted.
 *
 * @param format `Auto` only at the baseline; after it what the baseline had
 * @param withinSeconds ends it sooner than the task says
 */
export async function runCheck(
  check: Check,
  format: ResultFormat | 'Auto',
  { session, task, reports, reach }: CheckRunner,
  withinSeconds = Number.POSITIVE_INFINITY,
): Promise<Ran> {
  if (isArtifactCheck(check)) return runArtifact(check, session);
  if (!isCommandCheck(check)) throw new TypeError(`check ${check.name} is of type ${check.type}, which nothing runs; report this fault`);
  const own = [...new Set([...reportFiles(check.command), ...reports])].filter((path) => !path.startsWith('/'));
  await session.remove(own);
  const env = namingEnvironment({});
  const timeoutSeconds = Math.min(timeoutOf(check, task), withinSeconds);
  const { stdout, stderr, end } = await session.exec({ argv: check.command, env, timeoutSeconds, reach, redaction: 'Raw' });
  const files: { readonly path: string; readonly bytes: Uint8Array }[] = [];
  for (const path of own) {
    const bytes = await session.read(path);
    if (bytes !== null) files.push({ path, bytes });
  }
  const truncated = end.dropped.stdout + end.dropped.stderr > 0;
  const results = parseResults(format, { exitCode: end.exitCode, stdout, stderr, files, truncated });
  // Results are read from the exact bytes; what people and models see of them has no secrets.
  const output = new Redaction(() => undefined).open().text(tail(`${stdout}\n${stderr}`, maxOutput));
  return { check: check.name, end, results, output, millis: end.durationMs };
}

export function tail(text: string, characters: number): string {
  return text.length <= characters ? text : `…${text.slice(1 - characters)}`;
}
