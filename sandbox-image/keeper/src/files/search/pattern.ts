import { Matcher } from './matcher.ts';
import { compile, parseRegex, point, type Node } from './syntax.ts';

/** What is sought in a line. */
export interface Pattern {
  /** Where the first match begins; -1 when there is none. */
  find(line: string): number;
  /** A text that every matching line holds; null when none is known. Asked first, because it is fast. */
  readonly needs: string | null;
}

const maxNeed = 32;

/** @throws KeeperError `AF_INVALID` */
export function regexPattern(regex: string, ignoreCase: boolean): Pattern {
  const node = parseRegex(regex);
  const matcher = new Matcher(compile(node), ignoreCase);
  return { find: (line) => matcher.find(line), needs: ignoreCase ? null : needOf(node) };
}

export function textPattern(text: string, ignoreCase: boolean): Pattern {
  const parts = Array.from(text, (char): Node => ({ kind: 'set', set: { negated: false, ranges: [[point(char), point(char)]] } }));
  const matcher = new Matcher(compile({ kind: 'cat', parts }), ignoreCase);
  return { find: (line) => matcher.find(line), needs: ignoreCase ? null : text.slice(0, maxNeed) };
}

/** A pattern of file names as one of whole paths: `*` and `?` stop at a slash, `**` does not. */
export function globPattern(glob: string): (path: string) => boolean {
  const body = glob
    .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
    .replaceAll(/\*\*\/|\*\*|\*|\?/g, (wild) => (wild === '**/' ? '(?:.*/)?' : wild === '**' ? '.*' : wild === '*' ? '[^/]*' : '[^/]'));
  const matcher = new Matcher(compile(parseRegex(`^${glob.includes('/') ? '' : '(?:.*/)?'}${body}$`)), false);
  return (path) => matcher.find(path) >= 0;
}

/** The longest run of single characters that the whole pattern cannot do without. */
function needOf(node: Node): string | null {
  const parts = node.kind === 'cat' ? node.parts : [node];
  let [best, run] = ['', ''];
  for (const part of parts) {
    const [range] = part.kind === 'set' && !part.set.negated && part.set.ranges.length === 1 ? part.set.ranges : [];
    run = range !== undefined && range[0] === range[1] ? run + String.fromCodePoint(range[0]) : '';
    if (run.length > best.length) best = run;
  }
  return best === '' ? null : best.slice(0, maxNeed);
}
