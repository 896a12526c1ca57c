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
