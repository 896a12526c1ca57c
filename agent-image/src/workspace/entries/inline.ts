import { AttemptFailure } from '../../base/failure.ts';
import { type Entry, fileEntry } from './entry.ts';

interface InlineFile {
  readonly path: string;
  readonly content: string;
  readonly mode?: number | undefined;
}

/** The files of the task itself, by path. @throws AttemptFailure when one's path is a folder of another */
export function inlineEntries(files: readonly InlineFile[]): readonly Entry[] {
  const paths = new Set(files.map(({ path }) => path));
  for (const { path } of files) {
    const parts = path.split('/');
    const above = parts.map((_, at) => parts.slice(0, at).join('/')).find((folder) => paths.has(folder));
    if (above === undefined) continue;
    const what = `spec.workspace.inline.files: ${above} is a file and the folder of ${path}`;
    throw new AttemptFailure('InvalidInput', 'PathConflict', `${what}; rename one of them`);
  }
  return files.map(({ path, content, mode }) => fileEntry(path, content, mode ?? 0o644)).sort(byPath);
}

/** Each key of a ConfigMap as a file. */
export function configMapEntries(data: Readonly<Record<string, string>>): readonly Entry[] {
  return Object.entries(data)
    .map(([key, value]) => fileEntry(key, value, 0o644))
    .sort(byPath);
}

function byPath(a: Entry, b: Entry): number {
  return a.path < b.path ? -1 : 1;
}
