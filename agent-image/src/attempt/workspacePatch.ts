const head = 'diff --git ';

interface Section {
  /** As git prints it, quoted where git quotes; null for a section that is not the keeper's. */
  readonly path: string | null;
  readonly text: string;
}

/**
 * Returns the part of the keeper's unified diff (paths `workspace/…`, `home/…`) that `git apply` takes at the root of the
 * workspace: paths without `workspace/`, and only sections that git can apply. Each other change is named in a line in front
 * of the first section, which git ignores: `revert.tar` holds it whole. Pure.
 */
export function workspacePatch(unified: string): string {
  const parts = unified.split(/^(?=diff --git )/m);
  const preamble = parts[0]?.startsWith(head) === false ? (parts.shift() ?? '') : '';
  const byReason = Map.groupBy(parts.map(sectionOf), whyLeftOut);
  const kept = (byReason.get(null) ?? []).map(relative);
  const left = [...byReason].flatMap(([why, sections]) => (why === null ? [] : [leftOut(why, sections)]));
  return [preamble, ...left, ...kept].join('');
}

/** One line for all of a reason: an agent that commits changes hundreds of git's own files. */
function leftOut(why: string, sections: readonly Section[]): string {
  const named = sections.slice(0, 3).map(({ path }) => path ?? 'a section of unknown form');
  const more = sections.length - named.length;
  return `# not in this patch (${why}), but in revert.tar: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}\n`;
}

function sectionOf(text: string): Section {
  const line = text.slice(head.length, text.indexOf('\n'));
  // Both names are the same but for their first letter, so that the line falls into two halves.
  const half = (line.length - 1) / 2;
  const [a, b] = [line.slice(0, half), line.slice(half + 1)];
  const same = b === a.replace(/^("?)a\//, '$1b/');
  return { path: same ? a.replace(/^("?)a\//, '$1') : null, text };
}

function whyLeftOut({ path, text }: Section): string | null {
  if (path === null) return 'of unknown form';
  if (!/^"?workspace\//.test(path)) return 'outside of the workspace';
  if (/(^|\/)\.git\//.test(path)) return "git's own";
  return /^Binary files .* differ$/m.test(text.slice(0, hunksAt(text))) ? 'binary or long' : null;
}

/** Without the folder of the root in its head; lines of the hunks are left as they are. */
function relative({ path, text }: Section): string {
  const bare = (path ?? '').replace(/^("?)workspace\//, '$1');
  const name = (side: 'a' | 'b'): string => bare.replace(/^("?)/, `$1${side}/`);
  const at = hunksAt(text);
  const lines = text.slice(0, at).split('\n');
  const renamed = lines.map((line) => {
    if (line.startsWith(head)) return `${head}${name('a')} ${name('b')}`;
    const tab = line.endsWith('\t') ? '\t' : '';
    if (line.startsWith('--- ') && line !== '--- /dev/null') return `--- ${name('a')}${tab}`;
    return line.startsWith('+++ ') && line !== '+++ /dev/null' ? `+++ ${name('b')}${tab}` : line;
  });
  return renamed.join('\n') + text.slice(at);
}

function hunksAt(text: string): number {
  const at = text.search(/^@@ /m);
  return at < 0 ? text.length : at;
}
