import type { Candidate, Features, FocusFile } from '@agentfleet/protocol/inference';
import { measureSources, pythonSurfaces, type SourceChange } from '../features/index.ts';
import type { Grammars } from '../rails/index.ts';
import { EditMismatch, rewritesOf, type Rewrite } from './edits.ts';
import type { SandboxSession } from './sandboxSession.ts';

/** A look at sources takes no longer, seconds; past it they are not measured. */
const timeoutSeconds = 20;

/** What the text of a change tells. */
export interface TextFeatures {
  /** What is known before it is tried. */
  readonly before: Features;
  /** What counts beside what its run measures. */
  readonly ran: Features;
}

/** What changes of sources tell before they are tried, measured in the sandbox of the attempt. */
export interface SourceReader {
  /** Features by id of a candidate; nothing for one whose edits do not fit the files. */
  ofCandidates(candidates: readonly Candidate[], files: readonly FocusFile[]): Promise<ReadonlyMap<string, TextFeatures>>;
  /** Of one file that is about to be written. */
  ofRewrite(rewrite: Rewrite): Promise<Features>;
}

const nothing: TextFeatures = { before: {}, ran: {} };

function textFeatures({ complexityDelta, lintDelta, ...before }: Features): TextFeatures {
  const ran = { ...(complexityDelta !== undefined && { complexityDelta }), ...(lintDelta !== undefined && { lintDelta }) };
  return { before, ran };
}

/** Without a parser nothing is measured, which costs a model what it would have read. */
export function createSourceReader(session: SandboxSession, grammars: Grammars | undefined): SourceReader {
  const run = async (argv: readonly string[], stdin: string): Promise<string | null> => {
    const { stdout, end } = await session.exec({ argv, stdin, timeoutSeconds, redaction: 'Raw' });
    return end.exitCode === 0 ? stdout : null;
  };
  const python = pythonSurfaces(session.root.path, run);
  const measure = async (changes: readonly (readonly SourceChange[])[]): Promise<readonly TextFeatures[]> => {
    if (grammars === undefined || changes.length === 0) return changes.map(() => nothing);
    const read = async (path: string): Promise<string | null> => (await session.read(path))?.toString('utf8') ?? null;
    return (await measureSources(changes, { python, read, grammars })).map(textFeatures);
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
      return new Map([...changes.keys()].map((id, at) => [id, measured[at] ?? nothing]));
    },
    ofRewrite: async (rewrite) => (await measure([[sourceOf(rewrite)]]))[0]?.before ?? {},
  };
}

const sourceOf = ({ path, before, after }: Rewrite): SourceChange => ({
  path,
  before: before?.toString('utf8') ?? null,
  after: after.toString('utf8'),
});

async function changeOf(
  edits: Candidate['edits'],
  read: (path: string) => Promise<Buffer | null>,
): Promise<readonly SourceChange[] | null> {
  if (edits.length === 0) return null;
  try {
    return (await rewritesOf(edits, read)).map(sourceOf);
  } catch (error) {
    if (error instanceof EditMismatch) return null;
    throw error;
  }
}
