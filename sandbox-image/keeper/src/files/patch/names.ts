import type { BytePath } from '../../snapshot/index.ts';
import { badDiff } from './section.ts';

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};

/** Name of a `---` or `+++` line; null for /dev/null. What follows a tab is a time stamp. */
export function nameOf(text: string, strip: number, line: number): BytePath | null {
  const name = text.startsWith('"') ? unquote(text, line).name : (text.split('\t', 1)[0] ?? '').replace(/\r$/, '');
  return name === '/dev/null' ? null : checked(stripped(name, strip, line), line);
}

/** Name of a `rename from` or `rename to` line: it has no prefix. */
export function plainName(text: string, line: number): BytePath {
  return checked(text.startsWith('"') ? unquote(text, line).name : text.replace(/\r$/, ''), line);
}

/**
 * The name of a `diff --git` line. Both its names are the same where it is needed: in sections without other names, which
 * are those of empty files and of modes. Null when they differ.
 */
export function gitName(text: string, strip: number, line: number): BytePath | null {
  const [first, second] = text.startsWith('"') ? quotedPair(text, line) : halves(text.replace(/\r$/, ''));
  if (first === undefined || second === undefined) return null;
  const [a, b] = [withoutPrefix(first, strip), withoutPrefix(second, strip)];
  return a !== null && a === b ? checked(a, line) : null;
}

function quotedPair(text: string, line: number): readonly (string | undefined)[] {
  const first = unquote(text, line);
  const rest = first.rest.trimStart();
  return [first.name, rest.startsWith('"') ? unquote(rest, line).name : rest];
}

/** The names have one length, so that the space between them is in the middle. */
function halves(text: string): readonly string[] {
  const middle = (text.length - 1) / 2;
  return Number.isInteger(middle) && text[middle] === ' ' ? [text.slice(0, middle), text.slice(middle + 1)] : [];
}

/** Undoes the quotes of git: C escapes and octal bytes. */
function unquote(text: string, line: number): { readonly name: string; readonly rest: string } {
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(text);
  if (quoted === null) throw badDiff(line, 'a quoted name does not end');
  const name = (quoted[1] ?? '').replaceAll(/\\([0-3][0-7]{2}|.)/gs, (_, escape: string) => {
    const plain = escape.length === 3 ? String.fromCharCode(Number.parseInt(escape, 8)) : escapes[escape];
    if (plain === undefined) throw badDiff(line, `a quoted name has the unknown escape \\${escape}`);
    return plain;
  });
  return { name, rest: text.slice(quoted[0].length) };
}

function stripped(name: string, strip: number, line: number): string {
  const rest = withoutPrefix(name, strip);
  if (rest === null) throw badDiff(line, `"${name.slice(0, 200)}" has no ${strip} leading components to strip; set strip`);
  return rest;
}

function withoutPrefix(name: string, strip: number): string | null {
  const parts = name.split('/');
  return parts.length > strip ? parts.slice(strip).join('/') : null;
}

function checked(name: string, line: number): BytePath {
  const refuse = (why: string): Error => badDiff(line, `the name "${name.slice(0, 200)}" ${why}`);
  if (name === '') throw badDiff(line, 'the name is empty');
  if (name.length > 4096) throw refuse('is longer than 4096 bytes');
  if (name.includes('\0')) throw refuse('contains a NUL character');
  if (name.startsWith('/')) throw refuse('is absolute');
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..')) throw refuse('contains "", "." or ".."');
  return name;
}
