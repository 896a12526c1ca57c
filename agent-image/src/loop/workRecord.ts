import type { ConversationMessage, ToolCall } from '@agentfleet/protocol/chat';
import { objectIn, shortened } from '../base/text.ts';
import { type PlanItem, plain } from '../tools/tool.ts';
import { fenced } from '../models/fence.ts';
import { observed, readsHandles, textTokens } from './observation.ts';
import type { CallObserved } from './notes.ts';
import { headings } from './summary.ts';

/** A call and what came of it. */
export interface DoneCall {
  readonly call: ToolCall;
  /** Reads its observation whole; absent: no tool does. */
  readonly handle?: string;
  readonly observed: CallObserved;
  /** Of work that was handed in: what refused it. */
  readonly rejected?: string;
}

/** Facts of the work that the loop knows by itself; no model reported them. */
export interface WorkRecord {
  readonly plan: readonly PlanItem[];
  /** Files that differ from the start, as `a.py (changed)`. */
  readonly changed: readonly string[];
  /** All calls of the conversation that are not undone, oldest first. */
  readonly done: readonly DoneCall[];
  /** Handles of observations that were cut. */
  readonly kept: ReadonlySet<string>;
  /** Returns those of these paths at which there is nothing, and was nothing at the start. */
  readonly absent: (paths: readonly string[]) => readonly string[];
}

/** Files and handles that are listed, the newest ones. */
const maxFiles = 24;
const maxHandles = 12;
const maxOutcomes = 8;
/** Runs of checks that are named where the newest left some out. */
const maxRuns = 3;
/** Characters of an argument that is shown whole; a longer one is described. */
const maxArgument = 160;
/** Results that the extract shows the end of, and their tokens. */
const shownResults = 3;
const resultTokens = 80;
/** Share of the extract that notes of an earlier summary may have. */
const notesShare = 0.4;
const extractHead = 'No summary could be written. What was done, as it was recorded, newest last:';

const earlierHead = 'Earlier notes: ';

/** Returns the part of notes that a model wrote: all of them, or of an extract the notes before it. Pure. */
export function writtenIn(notes: string): string {
  if (!notes.startsWith(extractHead)) return notes;
  const lines = notes.split('\n').slice(1);
  const end = lines.findIndex((line, at) => at > 0 && !line.startsWith('  '));
  const [first = '', ...rest] = end < 0 ? lines : lines.slice(0, end);
  return first.startsWith(earlierHead) ? [first.slice(earlierHead.length), ...rest.map((line) => line.slice(2))].join('\n') : '';
}

/** A relative path with a folder and an ending, in prose; not the end of another one, of a URL or of a package's name. */
const pathInText = /(?<![-\w./~:@$\\])(?:\.\/)?((?:[-\w.]+\/)+[-\w.]*\.\w{1,8})(?![\w/*])/g;

/** Returns the files that a text names by a path, each once, in their order. Pure. */
export function pathsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(pathInText)].map(([, path = '']) => path))];
}

/** Files that notes name under the heading of files. */
function filesOf(notes: string): readonly string[] {
  const parts = notes.split(headings);
  return pathsIn(parts.filter((part) => /^files\b/i.test(part)).join('\n'));
}

/**
 * Returns the text beside the notes of every summary: files that changed, the last result of the checks, output still readable.
 *
 * @param notes of a model, which may name files that were never written
 */
export function recordText(record: WorkRecord, notes: string, tokens: number): string {
  const { changed } = record;
  const absent = record.absent(pathsIn(notes));
  const differs = (path: string): boolean => changed.some((one) => one.startsWith(`${path} (`) || one.includes(`/${path} (`));
  const same = filesOf(notes).filter((path) => !absent.includes(path) && !differs(path));
  const lines = [
    `Files that differ from the start: ${listed(changed, maxFiles)}`,
    ...(same.length === 0 ? [] : [`Among the files of the notes, and as at the start: ${listed(same, maxFiles)}`]),
    ...(absent.length === 0 ? [] : [`Named in the notes, and not there: ${listed(absent, maxFiles)}`]),
    ...checksOf(record.done),
  ];
  const read = record.done
    .filter(({ handle }) => handle !== undefined && record.kept.has(handle))
    .map((one) => `${one.handle} (${described(one.call)})`);
  if (read.length > 0)
    lines.push(`Long output that ${readsHandles} still reads by its handle: ${newest(read, tokens - textTokens(lines.join('\n')))}`);
  return observed(lines.join('\n'), { tokens });
}

/**
 * The calls and what came of each, for when no model wrote a summary; never half an argument.
 *
 * @param notes of the summary before it, which a model wrote; empty: none
 */
export function extract({ done }: WorkRecord, notes: string, tokens: number): string {
  // Indented, so that none of its lines is taken for one of ours.
  const kept = observed(notes, { tokens: tokens * notesShare }).replaceAll('\n', '\n  ');
  const earlier = notes === '' ? '' : `${earlierHead}${kept}`;
  const results = done.slice(-shownResults).map(({ call, handle, observed: { text } }) => {
    const shown = observed(text.trim(), { tokens: resultTokens, ...(handle !== undefined && { handle: () => handle }) });
    return fenced(`what ${call.name} returned, cut`, shown);
  });
  const fixed = [extractHead, earlier, ...results];
  let left = tokens - textTokens(fixed.join('\n'));
  const lines: string[] = [];
  for (const one of done.toReversed()) {
    const line = `- ${described(one.call)}: ${cameOf(one)}`;
    left -= textTokens(line) + 1;
    if (left < 0) break;
    lines.unshift(line);
  }
  const missing = done.length - lines.length;
  const older = missing === 0 ? [] : [`(${missing} older calls are not listed)`];
  return [extractHead, ...(earlier === '' ? [] : [earlier]), ...older, ...lines, ...results].join('\n');
}

/** Calls of the newest replies that a summary leaves as they are, and what came of each; a line each, oldest first. Pure. */
export function outcomes({ done }: Pick<WorkRecord, 'done'>, stays: readonly ConversationMessage[]): readonly string[] {
  const ids = stays.flatMap((message) => (message.role === 'Tool' ? [message.callId] : []));
  const last = done.slice(-ids.length).filter(({ call }) => ids.includes(call.id));
  return last.slice(-maxOutcomes).map((one) => `${described(one.call)}: ${cameOf(one)}`);
}

function checksOf(done: readonly DoneCall[]): readonly string[] {
  const runs = done.filter(({ observed: { holds }, rejected }) => (holds ?? rejected) !== undefined);
  const last = runs.at(-1);
  if (last === undefined) return [];
  const since = done.slice(done.indexOf(last) + 1).some(({ observed: { tree, restored } }) => (tree ?? restored) !== undefined);
  // One that left checks out says nothing of those.
  const whole = runs.findLastIndex((one) => !seenOf(one).includes('; not run: '));
  const shown = runs
    .slice(Math.max(whole, runs.length - maxRuns))
    .toReversed()
    .map(seenOf);
  return [`Checks, as they were seen last: ${shown.join(' | before that: ')}${since ? ' | files changed since' : ''}`];
}

/** Sum of a run of the checks, or of a submission that was refused. */
function seenOf(one: DoneCall): string {
  if (one.rejected === undefined) return lastLine(one);
  const [why = ''] = one.rejected.split('\nThe work goes on');
  const left = /and (\d+) may follow this one/.exec(one.rejected)?.[1];
  return `a submission was refused: ${shortened(why.slice(why.lastIndexOf('\n') + 1), maxArgument)}${left === undefined ? '' : ` (${left} may follow)`}`;
}

/** Describes a call, with an argument that is whole or left out. */
function described({ name, arguments: text }: ToolCall): string {
  const args = objectIn(text) ?? {};
  const main = ['command', 'path', 'file_path', 'filePath', 'file', 'pattern', 'url', 'handle', 'step', 'question'].find(
    (key) => args[key] !== undefined,
  );
  if (main === undefined) return name;
  const value = plain(String(args[main])).trim();
  if (main !== 'command') return value.length <= maxArgument ? `${name} ${oneLine(value)}` : name;
  const lines = value.split('\n');
  const first = lines[0] ?? '';
  const begins = first.length <= maxArgument ? first : (/^\S{1,40}(?=\s)/.exec(first)?.[0] ?? '');
  const what = begins === '' ? `of ${value.length} characters` : `\`${begins}\``;
  const more =
    begins !== first ? ` and more, ${value.length} characters in all` : lines.length > 1 ? ` and ${lines.length - 1} more lines` : '';
  return `${name} ${what}${more}`;
}

function cameOf(one: DoneCall): string {
  const { refused, ok, notRun, tool } = one.observed;
  if (one.rejected !== undefined) return `handed in, and refused: ${shortened(oneLine(one.rejected), maxArgument)}`;
  if (refused !== undefined) return `refused, ${oneLine(refused).slice(0, 2 * maxArgument)}`;
  if (notRun === true) return 'not run';
  return tool === 'bash' || tool === 'run_checks' ? lastLine(one) : ok ? 'done' : failed(one);
}

/** Tools whose faults are words of their own, and not of what they read. */
const own: ReadonlySet<string> = new Set(['edit_file', 'read_file', 'search', 'undo', 'update_plan', 'submit']);

function failed({ observed: { tool, text } }: DoneCall): string {
  return own.has(tool) ? `failed, ${shortened(plain(text.split('\n')[0] ?? ''), maxArgument)}` : 'failed';
}

/** Returns the end of a call, from the last line: that is the loop's own, not the program's. */
function lastLine({ observed: { text, ok } }: DoneCall): string {
  const last = text.slice(text.lastIndexOf('\n') + 1).replace(/^\[(.*)\]$/, '$1');
  return last.length <= maxArgument ? last : ok ? 'done' : 'failed';
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

function listed(items: readonly string[], most: number): string {
  if (items.length === 0) return 'none';
  const more = items.length > most ? ` and ${items.length - most} more` : '';
  return `${items.slice(0, most).map(oneLine).join(', ')}${more}`;
}

/** The newest that fit, oldest first. */
function newest(items: readonly string[], tokens: number): string {
  let left = tokens - textTokens(`Long output that ${readsHandles} still reads by its handle: `);
  const kept: string[] = [];
  for (const item of items.slice(-maxHandles).toReversed()) {
    left -= textTokens(item) + 1;
    if (left < 0 && kept.length > 0) break;
    kept.unshift(item);
  }
  return kept.join(', ');
}
