import { refusing } from './spare.ts';

/** Levels of thinking in the words of all servers, the least first. */
const levels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
/** Levels that every model with levels knows, for those that some do not. */
const common: ReadonlyMap<string, string> = new Map([['minimal', 'low'], ['xhigh', 'high'], ['max', 'high']]); // prettier-ignore

/** Levels that a server refused, each with the one to ask for in its place. */
export type Levels = ReadonlyMap<string, string>;

/** Returns the level to ask for, where a server may have refused one. Pure. */
export function levelFor(level: string, refused: Levels): string {
  let taken = level;
  // No level that was refused is taken in place of another: this ends.
  for (let next = refused.get(taken); next !== undefined; next = refused.get(taken)) taken = next;
  return taken;
}

/**
 * Returns the level to ask for in place of one that an error refuses: the nearest of those that it names, else one that every model with
 * levels knows. Null: it refuses levels altogether, or something else. Pure.
 */
export function levelInstead(error: unknown, level: string, refused: Levels): string | null {
  const { status, message = '', param } = error as { readonly status?: number; readonly message?: string; readonly param?: unknown };
  if (!refusing.has(status) || !/effort/i.test(`${message} ${String(param)}`)) return null;
  const isNamed = (one: string): boolean => new RegExp(`['"\`]${one}['"\`]`).test(message);
  const at = placeOf(level);
  const named = levels.filter((one) => one !== level && !refused.has(one) && isNamed(one));
  // Of two that are as near, that nearer to the middle.
  const near = named.sort((a, b) => Math.abs(placeOf(a) - at) - Math.abs(placeOf(b) - at) || fromMiddle(a) - fromMiddle(b));
  const usual = common.get(level);
  const isUsual = usual !== undefined && !refused.has(usual) && new RegExp(`\\b${level}\\b`).test(message);
  return near[0] ?? (isUsual ? usual : null);
}

const placeOf = (level: string): number => (levels as readonly string[]).indexOf(level);
const fromMiddle = (level: string): number => Math.abs(placeOf(level) - placeOf('medium'));
