/** Changes of a workspace: from edits to files, from two trees to what differs, from files to a script that writes them. */
import { applyEdits } from './edits.ts';
import type { Change, ChangeFile, Changes, Language, Tree } from './types.ts';

/** What leads from one tree to the other. */
export function changesBetween(from: Tree, to: Tree): Changes {
  const written = Object.entries(to).filter(([path, content]) => from[path] !== content);
  const removed = Object.keys(from).filter((path) => !(path in to));
  return Object.fromEntries<string | null>([...written, ...removed.map((path): [string, null] => [path, null])]);
}

/** The tree after changes. */
export function changed(tree: Tree, changes: Changes): Tree {
  const entries = Object.entries({ ...tree, ...changes });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}

/** A change as it is written, on the files that it is made to. @throws PackError when an edit does not fit */
export function readChange({ edits = [], files = {}, script }: ChangeFile, tree: Tree, language: Language): Change {
  const changes = changesBetween(tree, changed(applyEdits(tree, edits, language), files));
  return { files: changes, ...(script === undefined ? {} : { script }) };
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A shell script that does what a change does; any content survives, because it is written in base 64. */
export function scriptOf({ files, script }: Change): string {
  const lines = Object.entries(files).flatMap(([path, content]) => {
    if (content === null) return [`rm -f ${quoted(path)}`];
    const folder = path.includes('/') ? [`mkdir -p ${quoted(path.slice(0, path.lastIndexOf('/')))}`] : [];
    return [...folder, `printf %s ${Buffer.from(content).toString('base64')} | base64 -d > ${quoted(path)}`];
  });
  return [...lines, ...(script === undefined ? [] : [script])].join('\n');
}
