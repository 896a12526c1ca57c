import { isBinary, leftOutOf, walk } from '../tree/look.ts';
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { lookBounds, type SearchMatch, type SearchQuery, type SearchResult } from '@agentfleet/protocol/keeper';
import type { Clock } from '../../base/clock.ts';
import { errnoOf, KeeperError } from '../../base/failure.ts';
import { bytesOf, displayPath, sysPath, type BytePath } from '../../snapshot/index.ts';
import { resolveFolder, resolveInRoots, standsAt } from '../tree/resolve.ts';
import { RE2JS, RE2JSException, RE2JSSyntaxException } from 're2js';

/** A pattern that is searched in a line. */
export interface Pattern {
  /** Returns the start of the first match (UTF-16 units); -1 when there is none. */
  find(line: string): number;
  /** A text that every matching line holds; null when none is known. Asked first of a whole file, because it is fast. */
  readonly needs: string | null;
}

/** The time for a character grows with this. */
const maxInstructions = 1000;

/** RE2: the time is linear in the line for every pattern. @throws KeeperError `AF_INVALID` naming the unsupported part */
export function regexPattern(regex: string, ignoreCase: boolean): Pattern {
  const compiled = compile(regex, ignoreCase);
  const find = (line: string): number => {
    // Testing for a match is several times faster than locating it.
    if (!compiled.test(line)) return -1;
    const matcher = compiled.matcher(line);
    return matcher.find() ? matcher.start() : -1;
  };
  return { find, needs: null };
}

function textPattern(text: string, ignoreCase: boolean): Pattern {
  return ignoreCase ? regexPattern(RE2JS.quote(text), true) : { find: (line) => line.indexOf(text), needs: text };
}

/**
 * A pattern of file names as one of whole paths: `*` and `?` stop at a slash, `**` does not, and `{a,b}` is one of its
 * alternatives. Braces without a comma are text, and so are those around a group. With `!` in front it is one of all other files.
 */
export function globPattern(glob: string): (path: string) => boolean {
  if (glob.startsWith('!')) {
    const named = globPattern(glob.slice(1));
    return (path) => !named(path);
  }
  // Every second part stood in braces.
  const parts = glob.split(/\{([^{}]*)\}/).map((part, at) => (at % 2 === 0 ? wildcards(part) : alternatives(part)));
  const compiled = compile(`${glob.includes('/') ? '' : '(?:.*/)?'}${parts.join('')}`, false);
  return (path) => compiled.testExact(path);
}

function alternatives(group: string): string {
  return group.includes(',') ? `(?:${group.split(',').map(wildcards).join('|')})` : wildcards(`{${group}}`);
}

function wildcards(glob: string): string {
  return glob
    .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
    .replaceAll(/\*\*\/|\*\*|\*|\?/g, (wild) => (wild === '**/' ? '(?:.*/)?' : wild === '**' ? '.*' : wild === '*' ? '[^/]*' : '[^/]'));
}

function compile(regex: string, ignoreCase: boolean): RE2JS {
  const compiled = parsed(regex, RE2JS.DOTALL | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
  if (compiled.programSize() <= maxInstructions) return compiled;
  throw new KeeperError('AF_INVALID', `regex: with its repetitions written out it has over ${maxInstructions} parts`);
}

function parsed(regex: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(regex), flags);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    if (!(error instanceof RE2JSSyntaxException)) throw new KeeperError('AF_INVALID', `regex: ${error.message}`);
    // If the fault is the whole pattern, it begins with the flags.
    const where = error.getPattern()?.replace(/^\(\?[a-z]+\)/, '');
    throw new KeeperError('AF_INVALID', `regex: ${error.getDescription()}${where ? `: ${where}` : ''}`);
  }
}

const defaultMatches = 200;
const shownChars = 400;
const maxDepth = 256;
/** After so long others get their turn. */
const turnMs = 10;

export interface SearchOptions {
  readonly clock: Clock;
  /** Fires when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** Functions that take secrets out of what is shown; absent: nothing is taken out. */
  readonly hide?: {
    /** A whole text, its lines as they were counted: a line from the middle of a key does not show what it is. */
    readonly text: (whole: string) => string;
    /** A whole line: a secret that is cut does not show what it is. */
    readonly line: (line: string) => string;
  };
}

/**
 * Searches lines of text files below a folder inside the roots, or of one file. The time is bounded, and linear in the bytes read for
 * every pattern. The caller holds the gate. @throws KeeperError `AF_INVALID` for an invalid pattern, and those of paths
 */
export async function searchFiles(roots: readonly string[], query: SearchQuery, options: SearchOptions): Promise<SearchResult> {
  const pattern = patternOf(query);
  const { path: real, isFile } = await placeOf(roots, query.path);
  const wanted = query.include === undefined ? () => true : globPattern(query.include);
  // A pattern of names that speaks of such a folder means to look there.
  const leftOut: string[] | null = /^(?!!).*(?:node_modules|site-packages|venv|\.git\b|\.[tn]ox|\btarget\b)/.test(query.include ?? '')
    ? null
    : [];
  const within = /^[^!*?{}]+\//.exec(query.include ?? '')?.[0] ?? '';
  const search = new Search(pattern, Math.min(Number(query.limit ?? defaultMatches), lookBounds.matches), options);
  if (isFile) await search.file(bytesOf(real), '');
  else
    for await (const { name, path, kind } of walk(bytesOf(real), maxDepth, search.skipped, leftOut)) {
      if (search.isOver()) break;
      if (kind === 'file' && wanted(name)) await search.file(path, displayPath(name));
    }
  return { path: real, ...search.result(), ...leftOutOf((leftOut ?? []).filter((folder) => `${folder}/`.startsWith(within))) };
}

/** The real path of a folder or of a regular file. @throws KeeperError as {@link resolveFolder} for anything else */
async function placeOf(roots: readonly string[], path: string): Promise<{ readonly path: string; readonly isFile: boolean }> {
  try {
    return { path: await resolveFolder(roots, path, false), isFile: false };
  } catch (error) {
    if (!(error instanceof KeeperError) || error.code !== 'AF_FILE_NOT_REGULAR') throw error;
    const { folder, name } = await resolveInRoots(roots, path, false);
    const file = join(folder, name);
    const stat = await lstat(file).catch(() => null);
    if (stat?.isFile() !== true) throw error;
    return { path: file, isFile: true };
  }
}

function patternOf({ text, regex, ignoreCase }: SearchQuery): Pattern {
  const fold = ignoreCase === 'true';
  if (text !== undefined && regex === undefined) return textPattern(text, fold);
  if (regex !== undefined && text === undefined) return regexPattern(regex, fold);
  throw new KeeperError('AF_INVALID', 'text, regex: give one of them');
}

class Search {
  readonly skipped = { binary: 0, large: 0, unreadable: 0, longLines: 0 };
  readonly #pattern: Pattern;
  readonly #limit: number;
  readonly #options: SearchOptions;
  readonly #began: number;
  readonly #matches: SearchMatch[] = [];
  #turn: number;
  #files = 0;
  #bytes = 0;
  #endedBy: SearchResult['endedBy'] = null;

  constructor(pattern: Pattern, limit: number, options: SearchOptions) {
    this.#pattern = pattern;
    this.#limit = limit;
    this.#options = options;
    this.#began = options.clock.monotonic();
    this.#turn = this.#began;
  }

  result(): Omit<SearchResult, 'path'> {
    const [matches, endedBy, files, skipped] = [this.#matches, this.#endedBy, this.#files, this.skipped];
    return { matches, truncated: endedBy !== null, endedBy, files, skipped };
  }

  isOver(): boolean {
    this.#options.signal.throwIfAborted();
    if (this.#options.clock.monotonic() - this.#began > lookBounds.millis) this.#endedBy ??= 'Time';
    if (this.#bytes >= lookBounds.bytes) this.#endedBy ??= 'Bytes';
    if (this.#files >= lookBounds.files) this.#endedBy ??= 'Files';
    return this.#endedBy !== null;
  }

  async file(path: BytePath, name: string): Promise<void> {
    const content = await this.#read(path);
    if (content === null) return;
    this.#files += 1;
    this.#bytes += content.length;
    if (isBinary(content)) this.skipped.binary += 1;
    else await this.#lines(content.toString('utf8'), name);
  }

  async #lines(text: string, name: string): Promise<void> {
    const { needs } = this.#pattern;
    if (needs !== null && !text.includes(needs)) return;
    let number = 0;
    let hidden: readonly string[] | undefined;
    const shownLine = (line: string): string => {
      const { hide } = this.#options;
      if (hide === undefined) return line;
      hidden ??= hide.text(text).split('\n');
      return hide.line(cutLine(hidden[number - 1] ?? ''));
    };
    for (let at = 0; at < text.length;) {
      const found = text.indexOf('\n', at);
      const end = found === -1 ? text.length : found;
      number += 1;
      if (this.#line(text.slice(at, end), { number, path: name, shownLine })) return;
      at = end + 1;
      if (this.#options.clock.monotonic() - this.#turn < turnMs) continue;
      await setImmediate();
      this.#turn = this.#options.clock.monotonic();
      if (this.isOver()) return;
    }
  }

  /** @returns whether there are as many matches as may be reported */
  #line(whole: string, { number, path, shownLine }: { number: number; path: string; shownLine: (line: string) => string }): boolean {
    if (whole.length > lookBounds.lineChars) this.skipped.longLines += 1;
    const line = cutLine(whole);
    const { needs } = this.#pattern;
    if (needs !== null && !line.includes(needs)) return false;
    const start = this.#pattern.find(line);
    if (start < 0) return false;
    if (this.#matches.length === this.#limit) {
      this.#endedBy = 'Matches';
      return true;
    }
    const shown = shownLine(line);
    // Around the match: a line may be longer than the reported part. Secrets before the match move it.
    const near = shown === line ? start : Math.max(0, this.#pattern.find(shown));
    const from = Math.max(0, Math.min(near - shownChars / 4, shown.length - shownChars));
    this.#matches.push({ path, line: number, column: start + 1, text: shown.slice(from, from + shownChars).toWellFormed() });
    return false;
  }

  async #read(path: BytePath): Promise<Buffer | null> {
    try {
      await using handle = await open(sysPath(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (!(await standsAt(handle, Buffer.from(path, 'latin1')))) return null;
      const stat = await handle.stat();
      if (stat.isFile() && stat.size <= lookBounds.fileBytes) return await handle.readFile();
      this.skipped.large += 1;
      return null;
    } catch (error) {
      const code = errnoOf(error) ?? '';
      if (code === 'ENOENT') return null;
      if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENAMETOOLONG' && code !== 'ELOOP') throw error;
      this.skipped.unreadable += 1;
      return null;
    }
  }
}

function cutLine(whole: string): string {
  return whole.slice(0, lookBounds.lineChars).replace(/\r$/, '');
}
