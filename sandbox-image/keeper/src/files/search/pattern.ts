import { RE2JS, RE2JSException, RE2JSSyntaxException } from 're2js';
import { KeeperError } from '../../base/failure.ts';

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

export function textPattern(text: string, ignoreCase: boolean): Pattern {
  return ignoreCase ? regexPattern(RE2JS.quote(text), true) : { find: (line) => line.indexOf(text), needs: text };
}

/** A pattern of file names as one of whole paths: `*` and `?` stop at a slash, `**` does not. */
export function globPattern(glob: string): (path: string) => boolean {
  const body = glob
    .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
    .replaceAll(/\*\*\/|\*\*|\*|\?/g, (wild) => (wild === '**/' ? '(?:.*/)?' : wild === '**' ? '.*' : wild === '*' ? '[^/]*' : '[^/]'));
  const compiled = compile(`${glob.includes('/') ? '' : '(?:.*/)?'}${body}`, false);
  return (path) => compiled.testExact(path);
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
    // Where the fault is the whole pattern, it begins with the flags.
    const where = error.getPattern()?.replace(/^\(\?[a-z]+\)/, '');
    throw new KeeperError('AF_INVALID', `regex: ${error.getDescription()}${where ? `: ${where}` : ''}`);
  }
}
