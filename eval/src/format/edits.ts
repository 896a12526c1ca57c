import { PackError } from './failure.ts';
import type { Edit, Tree } from './types.ts';

/** Suffix of the sources of a language. */
const suffixes: Readonly<Record<string, string>> = { python: '.py', javascript: '.js', typescript: '.ts', shell: '.sh', text: '' };

/** The file that an edit names, or the only one there is. */
export function editedPath(edit: Edit, files: Tree, language: string): string {
  if (edit.in !== undefined) {
    if (files[edit.in] === undefined) throw new PackError(`edits ${edit.in}, which is no file of the family; correct "in"`);
    return edit.in;
  }
  const sources = Object.keys(files).filter((path) => path.endsWith(suffixes[language] ?? ''));
  const [only] = sources;
  if (only === undefined || sources.length > 1) throw new PackError(`an edit names no file and there are ${sources.length}; add "in"`);
  return only;
}

/** The files after the edits, one after the other. */
export function applyEdits(files: Tree, edits: readonly Edit[], language: string): Tree {
  const result: Record<string, string> = { ...files };
  for (const edit of edits) {
    const path = editedPath(edit, files, language);
    const content = result[path] as string;
    const parts = content.split(edit.find).length - 1;
    if (parts !== 1) throw new PackError(`${JSON.stringify(edit.find)} stands ${parts} times in ${path}; it must stand there once`);
    const at = content.indexOf(edit.find);
    result[path] = content.slice(0, at) + edit.put + content.slice(at + edit.find.length);
  }
  return result;
}
