import { posix } from 'node:path';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { toolDefinition } from '@agentfleet/protocol/chat';
import type { SearchMatch, SearchQuery, SearchResult } from '@agentfleet/protocol/keeper';
import { anyPath, forModel, linesAt, linesOrFolder, shownPath, similarPath, wordsOf } from './arguments.ts';
import { count, linesOf, plain, ArgumentError, type Tool, type ToolContext } from './tool.ts';

interface SearchArguments {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly context?: number;
}

/** Matching lines that are shown; around matches fewer, as each brings its neighbours. */
const maxMatches = 100;
const maxAround = 30;

/** Lines of text files that match a regular expression. The keeper serves it, so that no image needs a program for it. */
export const search: Tool = {
  definition: toolDefinition('search'),
  run: async (args, context) => {
    const { session } = context.scope;
    const wanted = args as unknown as SearchArguments;
    const path = anyPath(session, wanted.path ?? '.');
    const { result, matches } = await find(path, wanted, context);
    const around = wanted.context ?? 0;
    const lines = around === 0 ? matching(matches, session) : await neighbours(matches, around, context);
    return { ok: true, text: [...lines, `[${sum(result, matches)}]`].join('\n') };
  },
};

/** The matches, a line each, as grep has them; below its path where a file has several, as paths of packages are long. */
function matching(matches: readonly SearchMatch[], session: ToolContext['scope']['session']): readonly string[] {
  return [...Map.groupBy(matches, (one) => one.path)].flatMap(([path, own]) => {
    const lines = own.map(({ line, text }) => `${line}: ${plain(text)}`);
    const shown = shownPath(session, path);
    return own.length < 4 ? lines.map((line) => `${shown}:${line}`) : [shown, ...lines.map((line) => `  ${line}`)];
  });
}

/** Looks below a folder, or in one file. */
async function find(path: string, wanted: SearchArguments, context: ToolContext) {
  const limit = String((wanted.context ?? 0) > 0 ? maxAround : maxMatches);
  const query = { regex: wanted.pattern, ...(wanted.glob !== undefined && { include: wanted.glob }), limit, path };
  const similar = (): string => similarPath(shownPath(context.scope.session, path), context.baseline.tree);
  const isFile = await forModel('path', () => regular(path, context), similar);
  const result = await (isFile ? inFile(query, context) : ask(query, context));
  return { result, matches: result.matches.map((one) => ({ ...one, path: posix.join(path, one.path) })) };
}

/** Asks for one file; a keeper of the version before searches folders alone, and is asked for all files of that name. */
async function inFile(query: SearchQuery, context: ToolContext): Promise<SearchResult> {
  try {
    return await ask(query, context);
  } catch (error) {
    if (!(error instanceof KeeperRefusal) || error.code !== 'AF_FILE_NOT_REGULAR') throw error;
    const { dir, base } = posix.parse(query.path);
    // Braces of a name are no alternatives.
    const result = await ask({ ...query, path: dir, include: base.replaceAll(/[{}]/g, '?') }, context);
    return { ...result, matches: result.matches.filter((one) => one.path === base).map((one) => ({ ...one, path: '' })) };
  }
}

async function regular(path: string, { scope: { session } }: ToolContext): Promise<boolean> {
  try {
    return (await linesOrFolder(session, path, 1, 1)) !== null;
  } catch (error) {
    if (error instanceof KeeperRefusal && error.code === 'AF_FILE_BINARY') return true;
    throw error;
  }
}

async function ask(query: SearchQuery, { scope }: ToolContext): Promise<SearchResult> {
  if (query.regex === '') throw new ArgumentError('pattern: a regular expression that is not empty is expected');
  try {
    return await scope.session.call((keeper) => keeper.searchFiles(query, scope.context.signal));
  } catch (error) {
    if (error instanceof KeeperRefusal && error.code === 'AF_INVALID')
      throw new ArgumentError(`pattern: ${wordsOf(error)}; write . [] () | * + ? {n,m} ^ $ with a backslash to mean the character`);
    throw error;
  }
}

/** The matches with the lines around them, file by file; a line that matches has `>`. */
async function neighbours(
  matches: readonly SearchMatch[],
  around: number,
  { scope: { session } }: ToolContext,
): Promise<readonly string[]> {
  const shown: string[] = [];
  for (const [path, own] of Map.groupBy(matches, (one) => one.path)) {
    const hits = new Set(own.map(({ line }) => line));
    shown.push(shownPath(session, path));
    for (const [at, { from, to }] of ranges([...hits], around).entries()) {
      if (at > 0) shown.push('  …');
      const lines = linesOf(plain((await linesAt(session, path, from, to)).text));
      shown.push(...lines.map((line, at) => `${hits.has(from + at) ? '>' : ' '} ${from + at} | ${line.slice(0, 400)}`));
    }
  }
  return shown;
}

function ranges(lines: readonly number[], around: number): readonly { readonly from: number; readonly to: number }[] {
  const merged: { from: number; to: number }[] = [];
  for (const line of lines.toSorted((a, b) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && line - around <= last.to + 1) last.to = line + around;
    else merged.push({ from: Math.max(1, line - around), to: line + around });
  }
  return merged;
}

const ends = {
  Matches: 'these are the first; narrow pattern, path or glob',
  Files: 'not all files were searched; narrow path',
  Bytes: 'not all files were searched; narrow path or glob',
  Time: 'not all files were searched in time; narrow path or glob',
} as const;

function sum({ files, skipped, leftOut = [], endedBy }: SearchResult, matches: readonly SearchMatch[]): string {
  const paths = new Set(matches.map(({ path }) => path)).size;
  const left = (['binary', 'large', 'unreadable'] as const).flatMap((why) => (skipped[why] > 0 ? [`${skipped[why]} ${why}`] : []));
  if (skipped.longLines > 0) left.push(`the end of ${count(skipped.longLines, 'long line')}`);
  if (leftOut.length > 0) left.push(`what is below ${leftOut.map(plain).join(', ')} (name one as path)`);
  const found = matches.length === 0 ? 'no line matches' : `${count(matches.length, 'matching line')} in ${count(paths, 'file')}`;
  const not = left.length === 0 ? '' : `, without ${left.join(', ')}`;
  return `${found}; ${count(files, 'file')} searched${not}${endedBy === null ? '' : `; ${ends[endedBy]}`}`;
}
