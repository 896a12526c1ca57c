import { expect, it } from 'vitest';
import { alike } from './alike.ts';

const py = 'def add(a, b):\n    if a:\n        return a - b\n    return b\n\n\ndef sub(a, b):\n    return b\n';
const prose = 'He said “well—done”.\nShe said “no”.\n';

/** The text after the edit; null: no place is surely meant. */
const after = (text: string, old: string, fresh: string): string | null => {
  const found = alike(text, old, fresh);
  return found === null ? null : text.slice(0, found.from) + found.put + text.slice(found.to);
};

it.each<readonly [what: string, text: string, old: string, fresh: string, made: string | null]>([
  ['lines with numbers', py, '2 |     if a:\n3 |         return a - b\n', '    if a:\n        return a + b\n', py.replace('a - b', 'a + b')],
  ['lines with numbers in both texts', py, '  2:     if a:\n  3:         return a - b', '  2:     if a:\n  3:         return a + b', py.replace('a - b', 'a + b')],
  ['lines with numbers of a search', py, '  2 |     if a:\n> 3 |         return a - b', '    return a', py.replace('    if a:\n        return a - b', '    return a')],
  ['numbers before one of two lines alone', py, '2 |     if a:\n        return a - b', 'x', null],
  ['numbers that the new text has in part', py, '2 |     if a:\n3 |         return a - b', '2 |     if a:\n        return a', null],
  ['a line with a number that is there twice', py, '4 |     return b', 'x', null],
  ['a text that has numbers itself', '1: one\n2: two\n', '1: one\n2: twoo', '1: x', null],
  ['other quotes and dashes, of which those of the file stay', prose, 'He said "well-done".', 'He said "well-done", again.', prose.replace('done”.', 'done”, again.')],
  ['other quotes of what is there twice', prose, 'said "', 'says "', null],
  ['spaces that do not break', 'a\u00a0b = 1\nc = 2\n', 'a b = 1', 'a b = 2', 'a\u00a0b = 2\nc = 2\n'],
  ['less indentation of all lines', py, 'if a:\n    return  a - b\n', 'if a:\n    if b:\n        return a + b\n', py.replace('    if a:\n        return a - b', '    if a:\n        if b:\n            return a + b')],
  ['more indentation of all lines', py, '        if a:\n            return a - b', '        if not a:\n            return a + b', py.replace('if a:\n        return a - b', 'if not a:\n        return a + b')],
  ['more indentation than a new line has', py, '        if a:\n            return a - b', '    x = 1', null],
  ['less indentation, and a new text has that of the file', py, 'if a:\n    return  a - b', '    if a:\n        return a + b', null],
  ['indentation that is not the same for all lines', py, 'if a:\n  return a - b', 'if a:\n  return a + b', null],
  ['indentation that the first line lost', py, 'if a :\n        return a - b', 'if a:\n        return a + b', null],
  ['spaces for tabs', 'f() {\n\tif x\n\t\ty()\n}\n', 'f() {\n  if x\n    y()\n}\n', 'f() {\n  if x\n    z()\n}\n', 'f() {\n\tif x\n\t\tz()\n}\n'],
  ['spaces for tabs and a line between two', 'f() {\n\tif x\n\t\ty()\n}\n', 'f() {\n  if x\n    y()\n}\n', 'f() {\n   if x\n}\n', null],
  ['space at the end of lines', 'a = 1  \nb = 2\n', 'a = 1\nb = 2\n', 'a = 1\nb = 3\n', 'a = 1  \nb = 3\n'],
  ['a line feed that the file does not end with', 'a = 1\nb = 2', 'a = 1\nb = 2\n', 'a = 1\nb = 3\n', 'a = 1\nb = 3'],
  ['lines that end with CRLF', 'a  = 1\r\nb = 2\r\n', 'a = 1\nb = 2\n', 'a = 2\nb = 2\n', 'a = 2\r\nb = 2\r\n'],
  ['a place that is there twice but for whitespace', 'if x:\n  y = 10\nif x:\n    y = 10\n', 'if x:\n   y = 10', 'z', null],
  ['a change of whitespace alone', py, 'if a:\n    return  a - b', 'if a:\n  return a - b', null],
  ['a few characters', 'a {\n}\n}\n', ' a  {', 'b {', null],
  ['nothing like it', py, 'while a:\n    return 1', 'x', null],
])('an edit whose old text has %s', (_, text, old, fresh, made) => {
  expect(after(text, old, fresh)).toBe(made);
}); // prettier-ignore
