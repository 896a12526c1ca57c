import { createHash } from 'node:crypto';
import type { Edit, Candidate, Features, FocusFile } from '@agentfleet/protocol/inference';
import type { Grammars, SourceChange } from '../rails/index.ts';
import type { SourceFeatures } from './javascript/types.ts';
import { measureSources, pythonSurfaces } from './measure.ts';

/** Content of a file as it is; null where there is none. */
type ReadBytes = (path: string) => Promise<Buffer | null>;

/** A file and what it will hold. `before` is null for a new file. */
export interface Rewrite {
  readonly path: string;
  readonly before: Buffer | null;
  readonly after: Buffer;
}

/** Error of edits that do not fit the files as they are. */
export class EditMismatch extends Error {
  override readonly name = 'EditMismatch';
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Returns the files of a candidate as its edits make them. A file that does not exist counts as empty, so an edit of it creates it.
 *
 * @throws EditMismatch when a file is not the one that the edits are for, or edits overlap
 */
export async function rewritesOf(edits: readonly Edit[], read: ReadBytes): Promise<readonly Rewrite[]> {
  const rewrites: Rewrite[] = [];
  for (const [path, own] of Map.groupBy(edits, (edit) => edit.path)) {
    const before = await read(path);
    rewrites.push({ path, before, after: applied(path, before ?? Buffer.alloc(0), own) });
  }
  return rewrites;
}

function applied(path: string, before: Buffer, edits: readonly Edit[]): Buffer {
  const digest = sha256(before);
  const parts: Buffer[] = [];
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.range.startByte - b.range.startByte)) {
    const { startByte, endByte } = edit.range;
    if (edit.expectedSha256 !== digest) throw new EditMismatch(`${path} is not the file that the edit is for`);
    if (startByte < at || endByte < startByte || endByte > before.length) throw new EditMismatch(`${path}: edits overlap or lie outside`);
    if (before.toString('utf8', startByte, endByte) !== edit.before) throw new EditMismatch(`${path}: the range holds something else`);
    parts.push(before.subarray(at, startByte), Buffer.from(edit.after, 'utf8'));
    at = endByte;
  }
  return Buffer.concat([...parts, before.subarray(at)]);
}

/** A look at sources takes no longer, seconds; past it they are not measured. */
const timeoutSeconds = 20;

/** Features of changes of sources before they are tried, measured in the sandbox of the attempt. */
export interface SourceReader {
  /** Features by id of a candidate; nothing for one whose edits do not fit the files. */
  ofCandidates(candidates: readonly Candidate[], files: readonly FocusFile[]): Promise<ReadonlyMap<string, SourceFeatures>>;
  /** Of one file that is about to be written, before it is run. */
  ofRewrite(rewrite: Rewrite): Promise<Features>;
}

/** Of the features of a text, those that count before it is run. */
export const beforeRun = ({ complexityDelta: _complexity, lintDelta: _lint, ...known }: SourceFeatures): Features => known;

/** Part of the sandbox that a reader of sources needs; a session of an attempt has it. */
interface SourceSandbox {
  readonly root: { readonly path: string };
  readonly read: ReadBytes;
  exec(command: {
    readonly argv: readonly string[];
    readonly stdin: string;
    readonly timeoutSeconds: number;
    readonly redaction: 'Raw';
  }): Promise<{ readonly stdout: string; readonly end: { readonly exitCode: number | null } }>;
}

/** Without a parser nothing is measured, which costs a model what it would have read. */
export function createSourceReader(session: SourceSandbox, grammars: Grammars | undefined): SourceReader {
  const run = async (argv: readonly string[], stdin: string): Promise<string | null> => {
    const { stdout, end } = await session.exec({ argv, stdin, timeoutSeconds, redaction: 'Raw' });
    return end.exitCode === 0 ? stdout : null;
  };
  const python = pythonSurfaces(session.root.path, run);
  const measure = async (changes: readonly (readonly SourceChange[])[]): Promise<readonly SourceFeatures[]> => {
    if (grammars === undefined || changes.length === 0) return [];
    const read = async (path: string): Promise<string | null> => (await session.read(path))?.toString('utf8') ?? null;
    return measureSources(changes, { python, read, grammars });
  };
  return {
    ofCandidates: async (candidates, files) => {
      const contents = new Map(files.map(({ path, content }) => [path, Buffer.from(content, 'utf8')]));
      const changes = new Map<string, readonly SourceChange[]>();
      for (const { id, edits } of candidates) {
        const change = await changeOf(edits, (path) => Promise.resolve(contents.get(path) ?? null));
        if (change !== null) changes.set(id, change);
      }
      const measured = await measure([...changes.values()]);
      return new Map([...changes.keys()].map((id, at) => [id, measured[at] ?? {}]));
    },
    ofRewrite: async (rewrite) => beforeRun((await measure([[sourceOf(rewrite)]]))[0] ?? {}),
  };
}

/** The texts of a file and of what it will hold. */
export const sourceOf = ({ path, before, after }: Rewrite): SourceChange => ({
  path,
  before: before?.toString('utf8') ?? null,
  after: after.toString('utf8'),
});

async function changeOf(edits: Candidate['edits'], read: ReadBytes): Promise<readonly SourceChange[] | null> {
  if (edits.length === 0) return null;
  try {
    return (await rewritesOf(edits, read)).map(sourceOf);
  } catch (error) {
    if (error instanceof EditMismatch) return null;
    throw error;
  }
}
