// agent-image, checks/protect: files that no commit of a change would hold. May import protocol, kube and the keeper's client.
import picomatch from 'picomatch';
import { parentsOf } from './entries.ts';

interface Rule {
  readonly ignores: boolean;
  readonly foldersOnly: boolean;
  readonly matches: (path: string) => boolean;
}

/**
 * Reports whether a new file is left out of a commit: a `.gitignore` names it, or it lies in a folder `.git` other than the repository's
 * own. Read as gitignore(5) says.
 *
 * @param ignores the texts of `.gitignore` files by their paths
 * @example isLeftOut(new Map([['.gitignore', '*.log\n']]))('a/b.log'); // true
 */
export function isLeftOut(ignores: ReadonlyMap<string, string>): (path: string) => boolean {
  // Of two rules that match, that of the deeper folder counts, and in one file the later one.
  const rules = [...ignores]
    .toSorted(([a], [b]) => depth(a) - depth(b))
    .flatMap(([path, text]) => rulesOf(path.slice(0, -name.length), text));
  const isIgnored = (path: string, isFolder: boolean): boolean =>
    rules.findLast((rule) => (isFolder || !rule.foldersOnly) && rule.matches(path))?.ignores === true;
  return (path) =>
    path.split('/').some((part, at) => part.toLowerCase() === '.git' && (at > 0 || part !== '.git')) ||
    (!path.startsWith('.git/') && (parentsOf(path).some((folder) => isIgnored(folder, true)) || isIgnored(path, false)));
}

const name = '.gitignore';
const depth = (path: string): number => path.split('/').length;
const maxPattern = 4096;

function rulesOf(folder: string, text: string): readonly Rule[] {
  return text.split(/\r?\n/).flatMap((line): readonly Rule[] => {
    const [, not, whole = ''] = /^(!?)(.*)$/.exec(line.replace(/(?<![\\ \t])[ \t]+$/, '')) ?? [];
    const pattern = whole
      .replace(/^\//, '')
      .replace(/\/$/, '')
      .replace(/\/\*\*$/, '/**/*')
      .replaceAll('[!', '[^');
    if (pattern === '' || line.startsWith('#') || line.length > maxPattern) return [];
    const anchored = /\/./.test(whole);
    const options = { dot: true, nobrace: true, noextglob: true, nonegate: true, basename: false } as const;
    const matches = picomatch(anchored ? pattern : `**/${pattern}`, options);
    const below = (path: string): boolean => path.startsWith(folder) && matches(path.slice(folder.length));
    return [{ ignores: not === '', foldersOnly: whole.endsWith('/'), matches: below }];
  });
}
