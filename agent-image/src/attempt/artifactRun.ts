import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { ArtifactCheck } from '@agentfleet/protocol/api';
import { artifactFaults, parseResults, SchemaError } from '../checks/index.ts';
import type { Ran } from './checkRun.ts';
import { AttemptFailure } from './failure.ts';
import type { SandboxSession } from './sandboxSession.ts';

/**
 * Looks at the file that a check demands, as the keeper reads it: no command runs. As a run it ends with status 0 where the
 * file is as it has to be, else with 1 and what is wrong as its output.
 */
export async function runArtifact(check: ArtifactCheck, session: Pick<SandboxSession, 'read'>): Promise<Ran> {
  const faults = await faultsOf(check, session);
  const exitCode = faults.length === 0 ? 0 : 1;
  const output = faults.join('; ');
  const end = { exitCode, signal: null, timedOut: false, killed: null, oom: false };
  return { check: check.name, end, results: parseResults('Exit', { exitCode, stdout: output, stderr: '' }), output, millis: 0 };
}

async function faultsOf(check: ArtifactCheck, session: Pick<SandboxSession, 'read'>): Promise<readonly string[]> {
  try {
    return artifactFaults(check, await session.read(check.path));
  } catch (error) {
    if (error instanceof SchemaError) return [`spec.checks[].jsonSchema of check ${check.name} judges nothing: ${error.message}`];
    if (error instanceof KeeperRefusal && error.code === 'AF_TOO_LARGE') return [error.message];
    throw error;
  }
}

/** @throws AttemptFailure InvalidInput for a schema that can judge nothing, before anything is spent */
export function assertSchema(check: ArtifactCheck): void {
  try {
    artifactFaults(check, null);
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const message = `spec.checks[].jsonSchema of check ${check.name} can judge nothing: ${error.message}; correct it in a new task`;
    throw new AttemptFailure('InvalidInput', 'SchemaInvalid', message);
  }
}
