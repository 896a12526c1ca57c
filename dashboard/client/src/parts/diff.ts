// dashboard/client, parts: files and lines of a unified diff. May import base, never screens.
import parser, { type File } from 'gitdiff-parser';

export type FileDiff = File;
export const pathOf = ({ type, newPath, oldPath }: FileDiff): string => (type === 'delete' ? oldPath : newPath);

/** Files of a unified diff; a text that is none, or was cut, gives those that can be read. */
export function filesOf(patch: string): readonly FileDiff[] {
  try {
    // Plain `diff -u` has no `diff --git` line, which the parser looks for.
    const whole = patch.includes('diff --git ') ? patch : patch.replaceAll(/^--- (?:a\/)?(\S+)/gm, 'diff --git a/$1 b/$1\n--- a/$1');
    return parser.parse(whole);
  } catch {
    return [];
  }
}

/** An edit as a file of a diff. Lines have no numbers: where in the file they are is not known. */
export function fileOf({ path, before, after }: { readonly path: string; readonly before: string; readonly after: string }): FileDiff {
  const lines = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));
  const [old, fresh] = [lines(before), lines(after)];
  const least = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < least && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const around = 3;
  const normal = (content: string) => ({ type: 'normal' as const, isNormal: true as const, content, oldLineNumber: 0, newLineNumber: 0 });
  const end = old.length - tail;
  const changes = [
    ...old.slice(Math.max(0, head - around), head).map(normal),
    ...old.slice(head, end).map((content) => ({ type: 'delete' as const, isDelete: true as const, content, lineNumber: 0 })),
    ...fresh
      .slice(head, fresh.length - tail)
      .map((content) => ({ type: 'insert' as const, isInsert: true as const, content, lineNumber: 0 })),
    ...old.slice(end, end + around).map(normal),
  ];
  const hunk = { content: '', isPlain: false, oldStart: 0, newStart: 0, oldLines: 0, newLines: 0, changes };
  const type = before === '' ? ('add' as const) : ('modify' as const);
  return {
    hunks: [hunk],
    type,
    oldPath: path,
    newPath: path,
    oldEndingNewLine: true,
    newEndingNewLine: true,
    oldMode: '',
    newMode: '',
    oldRevision: '',
    newRevision: '',
  };
}

export function sizeOf({ hunks }: FileDiff): { readonly added: number; readonly removed: number } {
  const changes = hunks.flatMap((hunk) => hunk.changes);
  return { added: changes.filter(({ type }) => type === 'insert').length, removed: changes.filter(({ type }) => type === 'delete').length };
}

const languages: Readonly<Record<string, string>> = {
  py: 'python',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'jsx',
  ts: 'typescript',
  tsx: 'tsx',
  go: 'go',
  rs: 'rust',
  java: 'java',
  c: 'c',
  h: 'c',
  cc: 'cpp',
  cpp: 'cpp',
  hpp: 'cpp',
  rb: 'ruby',
  sh: 'bash',
  bash: 'bash',
  yaml: 'yaml',
  yml: 'yaml',
  json: 'json',
  md: 'markdown',
  css: 'css',
  html: 'markup',
  xml: 'markup',
  sql: 'sql',
  toml: 'toml',
};

export const languageOf = (path: string): string | undefined =>
  languages[/\.(?<end>\w+)$/.exec(path)?.groups?.['end']?.toLowerCase() ?? ''];
