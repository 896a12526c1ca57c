/** Builds runnable tasks from a task file. */
import {
  PackError,
  type Edit,
  type Tree,
  type Change,
  type ChangeFile,
  type Changes,
  type Language,
  maxIdCharacters,
  seedOf,
  type CheckFile,
  type Half,
  type Kind,
  type PackCheck,
  type PackTask,
  type TaskEntry,
  type TaskFile,
} from './types.ts';

const suffixes: Readonly<Record<string, string>> = { python: '.py', javascript: '.js', typescript: '.ts', shell: '.sh', text: '' };

/** The file that an edit names, or the only one there is. */
function editedPath(edit: Edit, files: Tree, language: string): string {
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

/** Returns the changes from one tree to the other. */
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

/** A word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns a shell script that makes a change; any content survives, because it is written in base 64. */
export function scriptOf({ files, script }: Change): string {
  const lines = Object.entries(files).flatMap(([path, content]) => {
    if (content === null) return [`rm -f ${quoted(path)}`];
    const folder = path.includes('/') ? [`mkdir -p ${quoted(path.slice(0, path.lastIndexOf('/')))}`] : [];
    return [...folder, `printf %s ${Buffer.from(content).toString('base64')} | base64 -d > ${quoted(path)}`];
  });
  return [...lines, ...(script === undefined ? [] : [script])].join('\n');
}

/** Origin of a task file. */
export interface Place {
  readonly pack: string;
  readonly family: string;
  readonly half: Half;
}

const defaultTimeoutSeconds = 20;

/** The longest argument of a command in an AgentTask. */
const maxScriptCharacters = 8192;

const runners: Readonly<Partial<Record<Language, readonly string[]>>> = {
  python: ['python3', '-m', 'unittest', '-v'],
  javascript: ['node', '--test'],
  typescript: ['node', '--test'],
};

function buildCheck(name: string, check: CheckFile | undefined, language: Language): PackCheck {
  if (check === undefined) throw new PackError(`has no ${name} check; add "${name}" to the task or to the family`);
  const { files, timeoutSeconds = defaultTimeoutSeconds, start = 'fails' } = check;
  if (name === 'hidden' && start === 'passes')
    throw new PackError('has a hidden check that passes at the start, so that the no-op solves it; test for what is asked');
  const runner = runners[language];
  if (check.command === undefined && runner === undefined) {
    throw new PackError(`has no command for its ${name} check, and ${language} has no test runner; add "command"`);
  }
  return { command: check.command ?? [...(runner ?? []), ...Object.keys(files)], timeoutSeconds, files, start };
}

function kindOf(edits: readonly Edit[], files: Tree, language: Language): Kind {
  if (new Set(edits.map((edit) => editedPath(edit, files, language))).size > 1) return 'multi-file';
  return edits.length > 1 ? 'multi-edit' : 'single';
}

interface States {
  readonly start: Tree;
  readonly oracle: Change;
  readonly partial: readonly Change[];
  readonly kind: Kind;
}

function states(entry: TaskEntry, files: Tree, language: Language): States {
  const edits = entry.break;
  if (edits !== undefined) {
    const start = applyEdits(files, edits, language);
    const half = (edit: Edit): Change => ({ files: changesBetween(start, applyEdits(files, [edit], language)) });
    const kind = entry.kind ?? kindOf(edits, files, language);
    return { start, oracle: { files: changesBetween(start, files) }, partial: edits.length > 1 ? edits.map(half) : [], kind };
  }
  const written: ChangeFile = entry.oracle ?? {};
  const onlyEdits = written.files === undefined && written.script === undefined;
  const kind = entry.kind ?? (onlyEdits ? kindOf(written.edits ?? [], files, language) : undefined);
  if (kind === undefined) throw new PackError('has an oracle of whole files or a script and no kind; add "kind"');
  return { start: files, oracle: readChange(written, files, language), partial: [], kind };
}

/** Hidden checks must not be in the workspace, under their own name or another, nor be written there by a script. */
function refuseSeenHidden(files: Tree, scripts: readonly string[], hidden: Tree): void {
  const contents = new Map(Object.entries(files).map(([path, content]) => [content, path]));
  for (const [path, content] of Object.entries(hidden)) {
    const seen = path in files ? path : content.trim() === '' ? undefined : contents.get(content);
    if (seen !== undefined) throw new PackError(`shows its hidden file ${path} as ${seen}; take it out of what is visible`);
    if (content.trim() !== '' && scripts.some((script) => script.includes(content.trim())))
      throw new PackError(`writes its hidden file ${path} by a set-up script; take it out of there`);
  }
}

function refuseLong(scripts: readonly string[]): void {
  const long = scripts.find((script) => script.length > maxScriptCharacters);
  if (long !== undefined)
    throw new PackError(`has a script of ${long.length} characters; ${maxScriptCharacters} fit a command: put parts of it into files`);
}

/** Start of a task: the family's files and set-up, or the result of an earlier task. */
interface TestEnvironment {
  readonly files: Tree;
  readonly setup: readonly string[];
}

function groundOf(file: TaskFile, entry: TaskEntry, built: ReadonlyMap<string, PackTask>): TestEnvironment {
  const own = entry.setup === undefined ? [] : [entry.setup];
  if (entry.after === undefined)
    return { files: { ...file.files, ...entry.files }, setup: [...(file.setup === undefined ? [] : [file.setup]), ...own] };
  const before = built.get(entry.after);
  if (before === undefined) throw new PackError(`comes after ${entry.after}, which is no earlier task of its file; correct "after"`);
  const { oracle } = before;
  const files = Object.fromEntries(Object.entries(before.files).filter(([path]) => !(path in before.visible.files)));
  if (before.setup.length === 0 && oracle.script === undefined)
    return { files: { ...changed(files, oracle.files), ...entry.files }, setup: own };
  return { files: { ...files, ...entry.files }, setup: [...before.setup, scriptOf(oracle), ...own] };
}

function buildTask(file: TaskFile, entry: TaskEntry, place: Place, built: ReadonlyMap<string, PackTask>): PackTask {
  const spoken = typeof file.language === 'string' ? [file.language] : file.language;
  const language = spoken[0] as Language;
  const environment = groundOf(file, entry, built);
  const { start, ...rest } = states(entry, environment.files, language);
  if (Object.keys(rest.oracle.files).length === 0 && rest.oracle.script === undefined)
    throw new PackError('has an oracle that changes nothing; correct its edits');
  const visible = buildCheck('visible', entry.visible ?? file.visible, language);
  const hidden = buildCheck('hidden', entry.hidden ?? file.hidden, language);
  const overwritten = Object.keys(visible.files).find((path) => path in environment.files);
  if (overwritten !== undefined) throw new PackError(`has ${overwritten} both as file and as file of its visible check; keep one`);
  const files = { ...start, ...visible.files };
  refuseLong(environment.setup);
  refuseSeenHidden({ ...files, ...changed(start, rest.oracle.files) }, environment.setup, hidden.files);
  const id = `${place.pack}/${place.family}/${entry.id}`;
  if (id.length > maxIdCharacters)
    throw new PackError(`has an id of ${id.length} characters; ${maxIdCharacters} fit the name of an object`);
  const tags = [...new Set([...(file.tags ?? []), ...(entry.tags ?? [])])];
  const decoys = (entry.decoys ?? []).map((decoy) => ({ ...readChange(decoy, start, language), why: decoy.why }));
  const { goal, facts = {}, seed = seedOf(id) } = entry;
  const { needs = [] } = file;
  const own = { ...rest, id, ...place, languages: spoken, goal: goal.trim(), needs, files, visible, hidden, decoys, facts, seed, tags };
  return { ...own, setup: environment.setup };
}

/** Builds the tasks of a file. @throws PackError naming the task and its fault */
export function buildTasks(file: TaskFile, place: Place): PackTask[] {
  const built = new Map<string, PackTask>();
  return file.tasks.map((entry) => {
    try {
      const task = buildTask(file, entry, place, built);
      built.set(entry.id, task);
      return task;
    } catch (error) {
      if (error instanceof PackError) throw new PackError(`task ${place.pack}/${place.family}/${entry.id} ${error.message}`);
      throw error;
    }
  });
}
