import { walk, type Node } from '../../rails/syntax/node.ts';
import type { Grammars } from '../../rails/syntax/grammars.ts';
import { withoutTypes } from '../../rails/syntax/types.ts';

/** A source of JavaScript or TypeScript as a tree, or in how many places it cannot be read; null: the parser does not tell. */
export type ReadSource = { readonly root: Node } | { readonly broken: number } | null;

/** Most places that are counted. */
const mostBroken = 32;

/** Parses a source; of TypeScript the types are taken out first, each replaced by as many blanks. Nothing is run. */
export function readSource(path: string, text: string, grammars: Grammars): ReadSource {
  if (/\.[jt]sx$/.test(path)) return null;
  const plain = /\.[cm]?ts$/.test(path) ? withoutTypes(text) : text;
  if (plain === null || typeof plain !== 'string') return plain;
  const parsed = grammars.parse('javascript', plain);
  if (parsed === null) return null;
  if (!parsed.broken) return { root: parsed.root };
  const places = [...walk(parsed.root)].filter(({ type }) => type === 'ERROR').length;
  return { broken: Math.min(mostBroken, Math.max(1, places)) };
}
