/** From a task file to tasks that are ready to run. */
import { createHash } from 'node:crypto';
import { applyEdits, editedPath } from './edits.ts';
import { PackError } from './failure.ts';
import type { CheckFile, Edit, Half, Kind, Language, PackCheck, PackTask, TaskEntry, TaskFile, Tree } from './types.ts';

/** Where a task file belongs. */
export interface Place {
  readonly pack: string;
  readonly family: string;
  readonly half: Half;
}

const defaultTimeoutSeconds = 20;

/** An object of a cluster is named by the id; the rest of 63 is for a suffix. */
const maxIdCharacters = 56;

const runners: Readonly<Partial<Record<Language, readonly string[]>>> = {
  python: ['python3', '-m', 'unittest', '-v'],
  javascript: ['node', '--test'],
  typescript: ['node', '--test'],
};

function buildCheck(name: string, check: CheckFile | undefined, language: Language): PackCheck {
  if (check === undefined) throw new PackError(`has no ${name} check; add "${name}" to the task or to the family`);
  const { files, timeoutSeconds = defaultTimeoutSeconds } = check;
  const runner = runners[language];
  if (check.command === undefined && runner === undefined) {
    throw new PackError(`has no command for its ${name} check, and ${language} has no test runner; add "command"`);
  }
  return { command: check.command ?? [...(runner ?? []), ...Object.keys(files)], timeoutSeconds, files };
}

/** Kind of a change by where it is made. */
function kindOf(edits: readonly Edit[], files: Tree, language: Language): Kind {
  if (new Set(edits.map((edit) => editedPath(edit, files, language))).size > 1) return 'multi-file';
  return edits.length > 1 ? 'multi-edit' : 'single';
}

function removed(files: Readonly<Record<string, string | null>>): Tree {
  return Object.fromEntries(Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== null));
}

interface States {
  readonly start: Tree;
  readonly solution: Tree;
  readonly partial: readonly Tree[];
  readonly kind: Kind;
}

function states(entry: TaskEntry, files: Tree, language: Language): States {
  const edits = entry.break;
  if (edits !== undefined) {
    const partial = edits.length > 1 ? edits.map((edit) => applyEdits(files, [edit], language)) : [];
    return { start: applyEdits(files, edits, language), solution: files, partial, kind: entry.kind ?? kindOf(edits, files, language) };
  }
  const { edits: repairs = [], files: changes = {} } = entry.oracle ?? {};
  const kind = entry.kind ?? (Object.keys(changes).length === 0 ? kindOf(repairs, files, language) : undefined);
  if (kind === undefined) throw new PackError('has an oracle of whole files and no kind; add "kind"');
  return { start: files, solution: removed({ ...applyEdits(files, repairs, language), ...changes }), partial: [], kind };
}

function sameTree(one: Tree, other: Tree): boolean {
  const paths = Object.keys(one);
  return paths.length === Object.keys(other).length && paths.every((path) => one[path] === other[path]);
}

/** Nothing of a hidden check may lie in the workspace, under its own name or another. */
function refuseSeenHidden(files: Tree, hidden: Tree): void {
  const contents = new Map(Object.entries(files).map(([path, content]) => [content, path]));
  for (const [path, content] of Object.entries(hidden)) {
    const seen = path in files ? path : content.trim() === '' ? undefined : contents.get(content);
    if (seen !== undefined) throw new PackError(`shows its hidden file ${path} as ${seen}; take it out of what is visible`);
  }
}

/** The same for the same id, wherever and whenever it is read. */
function seedOf(id: string): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % 2 ** 31;
}

function buildTask(file: TaskFile, entry: TaskEntry, place: Place): PackTask {
  const spoken = typeof file.language === 'string' ? [file.language] : file.language;
  const language = spoken[0] as Language;
  const { start, solution, partial, kind } = states(entry, file.files, language);
  if (sameTree(start, solution)) throw new PackError('has an oracle that changes nothing; correct its edits');
  const visible = buildCheck('visible', entry.visible ?? file.visible, language);
  const hidden = buildCheck('hidden', entry.hidden ?? file.hidden, language);
  const overwritten = Object.keys(visible.files).find((path) => path in file.files);
  if (overwritten !== undefined) throw new PackError(`has ${overwritten} both as file and as file of its visible check; keep one`);
  const files = { ...start, ...visible.files };
  refuseSeenHidden({ ...files, ...solution }, hidden.files);
  const id = `${place.pack}/${place.family}/${entry.id}`;
  if (id.length > maxIdCharacters)
    throw new PackError(`has an id of ${id.length} characters; ${maxIdCharacters} fit the name of an object`);
  const tags = [...new Set([...(file.tags ?? []), ...(entry.tags ?? [])])];
  const goal = entry.goal.trim();
  return { id, ...place, languages: spoken, kind, goal, files, visible, hidden, solution, partial, seed: entry.seed ?? seedOf(id), tags };
}

/** The tasks of a file. @throws PackError naming the task and what is wrong with it */
export function buildTasks(file: TaskFile, place: Place): PackTask[] {
  return file.tasks.map((entry) => {
    try {
      return buildTask(file, entry, place);
    } catch (error) {
      if (error instanceof PackError) throw new PackError(`task ${place.pack}/${place.family}/${entry.id} ${error.message}`);
      throw error;
    }
  });
}
