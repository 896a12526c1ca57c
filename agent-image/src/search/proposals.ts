import { generateBounds, generatingRoles, type GenerateRequest, type GenerateResponse, type Edit } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import type { Focus } from './localise.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { SearchNode } from './node.ts';
import type { Scope } from '../attempt/scope.ts';
import { stripVTControlCharacters } from 'node:util';
import { type Baseline, holds, prove } from '../attempt/checkRun.ts';

/** Refusals that mean: there is nothing more to try here. */
const ending: ReadonlySet<string> = new Set(['RecordEnded', 'LanguageUnsupported', 'RecordUnknown', 'RecordMismatch']);

/** Parameters of a request to an expert. */
export interface Asking {
  readonly expert: ExpertEndpoint;
  readonly k: number;
  /** Pairs of edits are wanted although single ones are not used up. */
  readonly pairs: boolean;
}

/**
 * Returns the next proposals for a node; null when no expert has any left.
 *
 * @throws AttemptFailure Infrastructure when no expert answers
 */
export async function propose(scope: Scope, node: SearchNode, focus: Focus, asking: Asking): Promise<GenerateResponse | null> {
  for (;;) {
    scope.context.signal.throwIfAborted();
    const wasLast = node.maxEdits === 2;
    node.asked = node.stepOf(asking.expert.name);
    const response = await generate(scope, node, focus, asking);
    if (response === null || response.candidates.length > 0) return response;
    // An answer without candidates that is not the end comes from a search that ran out of time.
    if (wasLast || !response.exhausted) return null;
    advance(node, asking.expert.name);
  }
}

/** The answer reports exhaustion: once all of it was tried, the next step of a record is requested, and pairs of edits. */
export function settle(node: SearchNode, expert: string, { exhausted, candidates }: GenerateResponse): void {
  if (exhausted && candidates.every(({ id }) => node.tried.has(id))) advance(node, expert);
}

function advance(node: SearchNode, expert: string): void {
  node.reach(expert, node.stepOf(expert) + 1);
  node.maxEdits = 2;
}

async function generate({ context }: Scope, node: SearchNode, focus: Focus, asking: Asking): Promise<GenerateResponse | null> {
  const { experts, signal, task, assignment } = context;
  const { expert, k, pairs } = asking;
  try {
    return await experts.generate(expert, requestOf(), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AttemptFailure && ending.has(error.reason)) {
      context.log.info('an expert has no proposals', { expert: expert.name, reason: error.reason });
      return null;
    }
    if (error instanceof AttemptFailure) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const message = `expert ${expert.name} gave no proposals: ${why}; look at the pods of the pool`;
    throw new AttemptFailure('Infrastructure', 'ExpertUnavailable', message, { cause: error });
  }
  function requestOf(): GenerateRequest {
    return {
      requestId: `${(task.metadata.uid ?? task.metadata.name ?? 'task').slice(0, 64)}.${assignment.attempt}.${node.depth}.${node.tried.size}`,
      role: generatingRoles.find((known) => known === expert.role) ?? 'Generalist',
      goal: task.spec.goal,
      step: node.asked,
      grammar: 'Tool',
      files: [...focus.files],
      localisation: focus.localisation,
      k,
      maxEdits: pairs ? 2 : node.maxEdits,
      exclude: [...node.tried].slice(-generateBounds.maxExcluded),
      seed: 0,
      budgetMillis: generateBounds.defaultBudgetMillis,
    };
  }
}

/** Messages of Python, Node and the compiler of TypeScript about an undefined name. */
const missing = [
  /\bcannot import name '(?<name>\w+)' from/,
  /\b(?:module|type object) '[\w.]+' has no attribute '(?<name>\w+)'/,
  /'(?<owner>\w+)' object has no attribute '(?<name>\w+)'/,
  /\bname '(?<name>\w+)' is not defined/,
  /\bNo module named '(?<name>[\w.]+)'/,
  /\bdoes not provide an export named '(?<name>[\w$]+)'/,
  /\bReferenceError: (?<name>[\w$]+) is not defined/,
  /(?<![\w$])(?<name>[\w$]+)\)? is not a (?:function|constructor)\b/,
  /\berror TS(?:2305|2724): .{0,2000} exported member (?:named )?'(?<name>[\w$]+)'/,
  /\berror TS2339: Property '(?<name>[\w$]+)' does not exist/,
  /\berror TS(?:2304|2552): Cannot find name '(?<name>[\w$]+)'/,
];

/** A line of a report that names an error; of an assertion pytest shows the expression alone. */
const errorLine = /^[ \t]*(?:[E#][ \t]+)*(?:Uncaught )?(?:\w[\w.]*(?:Error|Exception)\b|assert\b|\S+: error TS\d).*$/gm;

/** Text of test runners around the error of a file that does not load. */
const wrapper = /\bImportError(?:: Failed to import test module| while importing test module)/;

const keywords = new Set(
  'and as assert async await break case class const continue def default del do elif else enum except export extends finally for from function global if import in instanceof interface is lambda let new nonlocal not null or pass raise return self static super switch this throw try type typeof undefined var void while with yield'.split(
    ' ',
  ),
);

/**
 * Returns the names that failing tests use and that occur nowhere in the editable files, when every error is about one
 * and no name there is spelled similarly; else none. Then the goal is new code, and edits of expressions cannot reach
 * it. Pure.
 */
export function missingNames({ files, localisation }: Pick<Focus, 'files' | 'localisation'>): readonly string[] {
  const known = new Set(files.flatMap((file) => withoutComments(file).match(/[\w$]+/g) ?? []));
  const words = [...known].filter((word) => !keywords.has(word));
  const isOwn = (owner: string): boolean => files.some(({ content }) => new RegExp(`\\bclass ${owner}\\b`).test(content));
  const near = (name: string): boolean => known.has(name) || words.some((word) => distance(word, name) <= Math.min(2, name.length / 3));
  const names = new Set<string>();
  for (const error of errorsOf(localisation.failingTests)) {
    const { name, owner } = missing.map((pattern) => pattern.exec(error)?.groups).find(Boolean) ?? {};
    if (name === undefined || near(name) || (owner !== undefined && !isOwn(owner))) return [];
    names.add(name);
  }
  return [...names];
}

/** Returns the reason why experts that only edit expressions cannot reach the goal; null where they may. */
export function newCodeNeeded(focus: Focus, experts: readonly Pick<ExpertEndpoint, 'role' | 'engine'>[]): string | null {
  const proposers = experts.filter(({ role }) => role === 'Generalist' || role === 'Specialist');
  const names = proposers.every(({ engine }) => engine === 'Synth') ? missingNames(focus) : [];
  if (names.length === 0) return null;
  const shown = names.slice(0, 5).join(', ');
  return `every failing test asks for ${shown}, which no file that may be edited has and set-up did not install: new code is needed`;
}

/** Returns the message of each failing test; where the runner's format has none, each error that the command printed. */
function errorsOf(tests: Focus['localisation']['failingTests']): readonly string[] {
  const messages = tests.map(({ message }) => (isTelling(message) ? errorLines(message) : []));
  const unreported = messages.filter((errors) => errors.length === 0).length;
  const printed = unreported === 0 ? [] : tests.flatMap(({ trace = '' }) => errorLines(trace));
  return printed.length < unreported ? [''] : [...messages.flat(), ...printed];
}

/** Node's runner has no details for a file that does not load, and pytest cuts its message to the width of a terminal. */
function isTelling(message: string): boolean {
  return message.trim() !== '' && message !== 'test failed' && !message.endsWith('...');
}

/** The lines that name errors; the text itself where it is one line without the name of its error. */
function errorLines(text: string): readonly string[] {
  const plain = stripVTControlCharacters(text);
  const lines = plain.match(errorLine) ?? (/^[^\n]+$/.test(plain) ? [plain] : []);
  return lines.filter((line) => !wrapper.test(line));
}

/** A comment that mentions a name does not define it. */
function withoutComments({ path, content }: Focus['files'][number]): string {
  return content.replaceAll(path.endsWith('.py') ? /#.*|"""[^]*?"""/g : /\/\/.*|\/\*[^]*?(?:\*\/|$)/g, ' ');
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let at = 0; at < a.length; at += 1) {
    const next = [at + 1];
    for (let to = 1; to <= b.length; to += 1)
      next.push(Math.min((row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1, (row[to - 1] ?? 0) + (a[at] === b[to - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}

const mostRuns = 8;

/** An edit, and the current place of its text in the file. */
export interface PlacedEdit {
  readonly edit: Edit;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the place of each edit's text after all steps, in their order; an edit that another one touched, or that made
 * a file, is left out.
 *
 * @param steps the edits of a step apply to the files after the step before
 */
function placeEdits(steps: readonly (readonly Edit[])[]): readonly PlacedEdit[] {
  let placed: readonly PlacedEdit[] = [];
  for (const step of steps) {
    const moved = placed.map((one) => movedBy(one, step)).filter((one) => one !== null);
    const own = step.filter(({ before, range }) => before !== '' || range.startByte > 0);
    placed = [...moved, ...own.map((edit) => ({ edit, ...spanAfter(edit, step) }))];
  }
  return placed;
}

const growth = ({ before, after }: Edit): number => Buffer.byteLength(after) - Buffer.byteLength(before);

function spanAfter(edit: Edit, step: readonly Edit[]): Pick<PlacedEdit, 'start' | 'end'> {
  const ahead = step.filter(({ path, range }) => path === edit.path && range.startByte < edit.range.startByte);
  const start = edit.range.startByte + ahead.reduce((sum, other) => sum + growth(other), 0);
  return { start, end: start + Buffer.byteLength(edit.after) };
}

function movedBy({ edit, start, end }: PlacedEdit, step: readonly Edit[]): PlacedEdit | null {
  const own = step.filter(({ path }) => path === edit.path);
  if (own.some(({ range }) => range.startByte < end && range.endByte > start)) return null;
  const by = own.filter(({ range }) => range.endByte <= start).reduce((sum, other) => sum + growth(other), 0);
  return { edit, start: start + by, end: end + by };
}

/**
 * Reverts edits of a result that no check needs, the first accepted one first: a step that passed a test by accident
 * must not be in the patch. The tree holds the result, without commands, before and after.
 *
 * @param last the edits of the step that made the checks hold on the tree of `from`
 * @returns how many edits were reverted
 */
export async function minimise(scope: Scope, baseline: Baseline, from: SearchNode, last: readonly Edit[]): Promise<number> {
  const nodes: SearchNode[] = [];
  for (let node = from; node.parent !== null; node = node.parent) nodes.unshift(node);
  const all = placeEdits([...nodes.map(({ edits }) => edits), last]);
  // Without its only edit the last step is the tree on which the checks did not hold.
  const open = last.length === 1 ? all.filter(({ edit }) => !last.includes(edit)) : all;
  if (open.length === 0 || nodes.some(({ acted }) => acted)) return 0;
  let { id } = await scope.session.snapshot('before it is minimised');
  const gone: PlacedEdit[] = [];
  for (const one of open.slice(0, mostRuns)) {
    if (gone.length === all.length - 1 || isSpent(scope)) break;
    const shorter = await without(scope, one, gone);
    if (shorter === null) continue;
    scope.progress.say(`trying without the edit of ${one.edit.path}`);
    await scope.session.write(one.edit.path, shorter);
    let needed = false;
    for (const judged of baseline.checks) needed ||= !holds(await prove(judged, baseline));
    await scope.session.restore(id);
    if (needed) continue;
    await scope.session.write(one.edit.path, shorter);
    ({ id } = await scope.session.snapshot('minimised'));
    gone.push(one);
  }
  for (const { planId, edits } of nodes)
    if (edits.every((edit) => gone.some((one) => one.edit === edit))) scope.progress.change(planId, { state: 'Dropped' });
  return gone.length;
}

/** The file without an edit, where others are gone already; null when it is not as expected. */
async function without({ session }: Scope, { edit, start, end }: PlacedEdit, gone: readonly PlacedEdit[]): Promise<Buffer | null> {
  const before = gone.filter((one) => one.edit.path === edit.path && one.start < start);
  const at = start - before.reduce((sum, one) => sum + growth(one.edit), 0);
  const file = await session.read(edit.path);
  const stop = at + (end - start);
  if (file === null || file.toString('utf8', at, stop) !== edit.after) return null;
  return Buffer.concat([file.subarray(0, at), Buffer.from(edit.before, 'utf8'), file.subarray(stop)]);
}

/** A spent budget ends the search for a shorter result, not the result. */
function isSpent({ meter }: Scope): boolean {
  try {
    meter.check();
    return false;
  } catch {
    return true;
  }
}
