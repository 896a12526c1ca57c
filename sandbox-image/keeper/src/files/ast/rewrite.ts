import type { Node } from 'web-tree-sitter';
import { astBounds, type AstLanguage } from '@agentfleet/protocol/keeper';
import { Matcher, type Bindings } from './match.ts';
import { parsePattern, PatternFault, type ParseText } from './pattern.ts';
import { assertBound, fill } from './template.ts';

/** A structural edit of one text. */
export interface RewriteJob {
  readonly grammar: string;
  readonly text: string;
  readonly pattern: string;
  readonly rewrite: string;
  readonly max: number;
}

/** The new text and what was done, or why the pattern is none. */
export type Rewritten =
  | { readonly fault: string }
  | {
      readonly text: string;
      readonly matches: number;
      readonly replaced: number;
      readonly snippets: readonly { readonly line: number; readonly before: string; readonly after: string }[];
    };

interface Match {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly bound: Bindings;
}

/** Replaces what matches, in document order; only the matched ranges change. */
export function rewriteTree(job: RewriteJob, parse: ParseText): Rewritten {
  try {
    const pattern = parsePattern(job.pattern, job.grammar as AstLanguage, parse);
    assertBound(job.rewrite, job.pattern);
    const matcher = new Matcher(pattern, job.text);
    const tree = parse(job.text);
    try {
      const matches = matchesOf(tree.rootNode.descendantsOfType(pattern.kind), matcher, job.pattern.trimEnd().endsWith(';'));
      return replaceAll(job, matches);
    } finally {
      tree.delete();
    }
  } catch (error) {
    if (error instanceof PatternFault) return { fault: error.message };
    throw error;
  }
}

/** Those that do not lie in one another; the outer one is first in document order. */
function matchesOf(nodes: readonly Node[], matcher: Matcher, semicolon: boolean): readonly Match[] {
  const matches: Match[] = [];
  let end = 0;
  for (const node of nodes) {
    if (node.startIndex < end) continue;
    const bound = matcher.match(node);
    if (bound === null) continue;
    matches.push({ start: node.startIndex, end: endOf(node, semicolon), line: node.startPosition.row + 1, bound });
    end = node.endIndex;
    if (matches.length > astBounds.matches) throw new PatternFault(`it matches more than ${astBounds.matches} times`);
  }
  return matches;
}

/** A semicolon that a pattern does not have stays, although it belongs to the node. */
function endOf(node: Node, semicolon: boolean): number {
  const last = node.lastChild;
  return !semicolon && last?.type === ';' ? last.startIndex : node.endIndex;
}

function replaceAll({ text, rewrite, max }: RewriteJob, matches: readonly Match[]): Rewritten {
  const snippets: { line: number; before: string; after: string }[] = [];
  const parts: string[] = [];
  const chosen = matches.slice(0, max);
  let at = 0;
  for (const { start, end, line, bound } of chosen) {
    const valueOf = (name: string): string => {
      const range = bound.get(name);
      return range === undefined ? '' : text.slice(range.start, range.end);
    };
    const after = fill(rewrite, valueOf, indentAt(text, start));
    parts.push(text.slice(at, start), after);
    at = end;
    if (snippets.length < astBounds.snippets) snippets.push({ line, before: shown(text.slice(start, end)), after: shown(after) });
  }
  parts.push(text.slice(at));
  return { text: parts.join(''), matches: matches.length, replaced: chosen.length, snippets };
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function shown(text: string): string {
  return text.length <= astBounds.snippetChars ? text : `${text.slice(0, astBounds.snippetChars).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
