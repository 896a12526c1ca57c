import { posix } from 'node:path';
import { toolDefinition } from '@agentfleet/protocol/chat';
import type { FileEntry } from '@agentfleet/protocol/keeper';
import { anyPath, forModel, linesOrFolder, shownPath, similarPath } from './arguments.ts';
import {
  count,
  keptLines,
  linesOf,
  maxLine,
  numbered,
  plain,
  ArgumentError,
  type Observation,
  type Tool,
  type ToolContext,
} from './tool.ts';

interface ReadArguments {
  readonly path?: string;
  readonly from_line?: number;
  readonly to_line?: number;
  readonly handle?: string;
}

/** Lines, and characters together, that one call shows. Below the loop's cut. */
const maxLines = 400;
const maxCharacters = 12_000;
/** Characters of the number before a line. */
const lineFrame = 8;
const listed = { depth: 2, entries: 200 } as const;

/** Lines of a file, the entries of a folder, or the text of an observation that was cut. */
export const readFile: Tool = {
  definition: toolDefinition('read_file'),
  run: (args, context) => {
    const { path, handle } = args as ReadArguments;
    if (handle !== undefined) return Promise.resolve(stored(handle, args, context));
    if (path === undefined) throw new ArgumentError('path: missing; give a path, or the handle of an observation that was cut');
    const isHandle = /^out-[\w.-]+$/.test(path) && !context.baseline.tree.includes(path) && context.memory.stored(path) !== null;
    return isHandle ? Promise.resolve(stored(path, args, context)) : file(path, args, context);
  },
};

function stored(handle: string, { from_line: from = 1, to_line: to }: ReadArguments, { memory }: ToolContext): Observation {
  const text = memory.stored(handle);
  if (text === null) throw new ArgumentError(`handle: nothing is kept as ${plain(handle)}; it is named where an observation was cut`);
  const all = keptLines(plain(text));
  return window(`the text of ${handle}`, all.slice(from - 1, to ?? from - 1 + maxLines), { from, all: all.length });
}

async function file(given: string, { from_line: from = 1, to_line: to }: ReadArguments, context: ToolContext): Promise<Observation> {
  const { session } = context.scope;
  const path = anyPath(session, given);
  if (to !== undefined && to < from) throw new ArgumentError(`to_line: ${to} is before from_line ${from}`);
  const last = Math.min(to ?? Number.MAX_SAFE_INTEGER, from + maxLines - 1);
  const similar = (): string => similarPath(shownPath(session, path), context.baseline.tree);
  const read = await forModel('path', () => linesOrFolder(session, path, from, last), similar);
  if (read === null) return folder(path, context);
  return window(shownPath(session, path), linesOf(plain(read.text)).map(cut), { from, all: read.lines });
}

function cut(line: string): string {
  return line.length <= maxLine ? line : `${line.slice(0, maxLine)}[… ${line.length - maxLine} more characters]`;
}

/** Returns as many of the lines as fit, and a last line about the rest. */
function window(name: string, lines: readonly string[], { from, all }: { readonly from: number; readonly all: number }): Observation {
  if (all === 0) return { ok: true, text: `[${name} is empty]` };
  if (from > all) throw new ArgumentError(`from_line: ${name} has ${count(all, 'line')}, ${from} is after the last`);
  const within = (most: number): string => {
    let characters = 0;
    const fit = lines.findIndex((line) => (characters += line.length + lineFrame) > most);
    const shown = fit === -1 ? lines : lines.slice(0, Math.max(1, fit));
    const to = from + shown.length - 1;
    const rest = to < all ? `; from_line ${to + 1} reads on` : '';
    const facts = from === 1 && to === all ? count(all, 'line') : `lines ${from} to ${to} of ${all}${rest}`;
    return `${numbered(shown, from)}\n[${name}: ${facts}]`;
  };
  return { ok: true, text: within(maxCharacters), within };
}

async function folder(path: string, { scope: { session }, baseline: { protectedSet } }: ToolContext): Promise<Observation> {
  const { depth, entries: limit } = listed;
  const { entries, truncated, leftOut = [] } = await forModel('path', () => session.call((keeper) => keeper.listFiles(path, depth, limit)));
  const more = truncated ? `; more is there: name a folder in it` : '';
  const without = leftOut.length > 0 ? `, without what is below ${leftOut.map(plain).join(', ')}` : '';
  const name = shownPath(session, path);
  const mark = ({ kind, path }: FileEntry): string =>
    kind === 'folder' || protectedSet.why(posix.join(name, path)) === null ? '' : ', protected';
  const what = `[folder ${name}: ${count(entries.length, 'entry')}, ${depth} levels${without}${more}]`;
  return { ok: true, text: [...entries.map((entry) => `${shown(entry)}${mark(entry)}`), what].join('\n') };
}

function shown({ path, kind, bytes, target }: FileEntry): string {
  if (kind === 'folder') return `${plain(path)}/`;
  if (kind === 'link') return `${plain(path)} -> ${plain(target ?? '')}`;
  return `${plain(path)}  ${bytes} bytes`;
}
