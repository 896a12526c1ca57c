import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import {
  ReplayFile,
  type RecordedCandidate,
  type ReplayRecord,
  generatingRoles,
  type Edit,
  type GenerateRequest,
  type RecordedEdit,
} from '@agentfleet/protocol/inference';
import { InferenceError } from '../../base/failure.ts';
import { candidateId, editOf, type Generated, ranked, type Weighed } from '../../base/engine.ts';
import { alone, type Engine } from '../../base/served.ts';

/** Recorded steps by digest of the goal, and the digest of all that was read. */
interface Records {
  readonly steps: ReadonlyMap<string, readonly (readonly RecordedCandidate[])[]>;
  readonly digest: string;
}

/**
 * Reads one file, or every `*.json` of a folder (as a ConfigMap is mounted).
 * @throws Error that names the file and its fault
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
    const shown = JSON.stringify(goal.slice(0, 80));
    if (at !== -1) throw new Error(`${file}: ${shown}, steps.${step}.${at}: it has neither an edit nor an act; record one or remove it`);
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
function goalDigest(goal: string): string {
  return createHash('sha256').update(goal.trim()).digest('hex');
}

/**
 * Answers with the record for the goal and the step, and nothing else. Under the grammar Edit candidates that act are
 * left out; they stay counted in `considered` and in the mass.
 */
export class ReplayEngine implements Engine {
  readonly name = 'Replay';
  readonly roles = generatingRoles;
  readonly learned = false;
  readonly languages = ['*'];
  readonly modelDigest: string;
  readonly #records: Records;
  readonly #now: () => number;

  constructor(records: Records, now: () => number) {
    this.#records = records;
    this.#now = now;
    this.modelDigest = records.digest;
  }

  readonly generate = alone((request: GenerateRequest) => this.#generate(request));

  prove(): Promise<void> {
    const [first] = this.#records.steps.values();
    return first === undefined ? Promise.reject(new Error('nothing is recorded')) : Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #generate(request: GenerateRequest): Generated {
    const started = this.#now();
    const recorded = this.#step(request);
    const mass = recorded.reduce((sum, candidate) => sum + candidate.weight, 0);
    const fit = request.grammar === 'Tool' ? recorded : recorded.filter(({ acts }) => acts.length === 0);
    const all = fit.map((candidate) => replayed(candidate, mass, request)).sort((a, b) => b.weight - a.weight);
    const { left, ...chosen } = ranked(all, request, 1);
    return {
      ...chosen,
      exhausted: left === 0,
      truncated: false,
      stats: { parsed: 0, considered: recorded.length, millis: Math.round(this.#now() - started) },
    };
  }

  #step({ goal, step }: GenerateRequest): readonly RecordedCandidate[] {
    const steps = this.#records.steps.get(goalDigest(goal));
    if (steps === undefined)
      throw new InferenceError('AF_RECORD_UNKNOWN', `goal: nothing is recorded for sha256 ${goalDigest(goal)}`, { field: 'goal' });
    const candidates = steps[step];
    if (candidates !== undefined) return candidates;
    throw new InferenceError('AF_RECORD_ENDED', `step: the record has ${steps.length} steps, ${step} is not one of them`, {
      field: 'step',
    });
  }
}

function replayed({ edits, acts, weight, operator, rationale }: RecordedCandidate, mass: number, request: GenerateRequest): Weighed {
  const wire = edits.map((edit) => located(edit, request));
  const share = weight / mass;
  const location = { path: wire[0]?.path ?? '', ...place(wire[0], request) };
  const acting = acts.length === 0 ? {} : { acts };
  return { id: candidateId(wire, acts), weight: share, energy: -Math.log(share), edits: wire, ...acting, operator, rationale, location };
}

function located(edit: RecordedEdit, { files }: GenerateRequest): Edit {
  const { path, before, after, range, expectedSha256 } = edit;
  if (range !== undefined && expectedSha256 !== undefined) return { path, range, before, after, expectedSha256 };
  const file = files.find((known) => known.path === path);
  if (file === undefined) throw mismatch(`${path} is not among the files of the request`);
  const at = file.content.indexOf(before);
  if (at === -1 || file.content.includes(before, at + 1))
    throw mismatch(`${path} does not hold ${JSON.stringify(before.slice(0, 80))} exactly once`);
  return editOf(file, at, at + before.length, after);
}

function mismatch(message: string): InferenceError {
  return new InferenceError('AF_RECORD_MISMATCH', `files: ${message}`, { field: 'files' });
}

function place(edit: Edit | undefined, { files }: GenerateRequest): { readonly line: number; readonly column: number } {
  const content = files.find((file) => file.path === edit?.path)?.content;
  if (edit === undefined || content === undefined) return { line: 1, column: 0 };
  const lines = Buffer.from(content).subarray(0, edit.range.startByte).toString().split('\n');
  return { line: lines.length, column: lines.at(-1)?.length ?? 0 };
}
