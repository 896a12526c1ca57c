import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { ReplayFile, type RecordedCandidate, type ReplayRecord } from '@agentfleet/protocol/inference';

/** Recorded steps by digest of the goal, and the digest of all that was read. */
export interface Records {
  readonly steps: ReadonlyMap<string, readonly (readonly RecordedCandidate[])[]>;
  readonly digest: string;
}

/**
 * Reads one file, or every `*.json` of a folder (as a ConfigMap is mounted).
 * @throws Error that names the file and what is wrong with it
 */
export async function readRecords(path: string): Promise<Records> {
  const isFolder = (await stat(path)).isDirectory();
  const names = isFolder ? (await readdir(path)).filter((name) => name.endsWith('.json')).sort() : [''];
  if (names.length === 0) throw new Error(`${path}: the folder has no *.json; mount the record there`);
  const validate = new Ajv({ strict: false, useDefaults: true }).compile<ReplayFile>(ReplayFile);
  const steps = new Map<string, readonly (readonly RecordedCandidate[])[]>();
  const hash = createHash('sha256');
  for (const name of names) {
    const file = join(path, name);
    const text = await readFile(file, 'utf8');
    hash.update(text);
    const content = parse(file, text);
    if (!validate(content)) {
      const [error] = validate.errors ?? [];
      throw new Error(`${file}: ${error?.instancePath.slice(1).replaceAll('/', '.')}: ${error?.message}`);
    }
    for (const record of content.records) {
      const key = goalDigest(record.goal);
      if (steps.has(key)) throw new Error(`${file}: the goal ${JSON.stringify(record.goal)} is recorded twice; keep one`);
      refuseIdle(file, record);
      steps.set(key, record.steps);
    }
  }
  return { steps, digest: `sha256:${hash.digest('hex')}` };
}

/** A candidate that neither edits nor acts would look like a step that did nothing. */
function refuseIdle(file: string, { goal, steps }: ReplayRecord): void {
  for (const [step, candidates] of steps.entries()) {
    const at = candidates.findIndex(({ edits, acts }) => edits.length + acts.length === 0);
    const told = JSON.stringify(goal.slice(0, 80));
    if (at !== -1) throw new Error(`${file}: ${told}, steps.${step}.${at}: it has neither an edit nor an act; record one or remove it`);
  }
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file}: it is not JSON`, { cause: error });
  }
}

/** White space around a goal does not count. */
export function goalDigest(goal: string): string {
  return createHash('sha256').update(goal.trim()).digest('hex');
}
