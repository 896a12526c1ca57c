import { looksAssigned, looksGenerated } from './entropy.ts';
import { shapes } from './shapes.ts';
import { merged, type Span } from './span.ts';

const names = /pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|auth[_-]?key|credential/gi;
const assignment =
  /[A-Za-z0-9_.-]{0,24}["'\]]{0,2}[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3}["'`]?(?<value>[A-Za-z0-9+/_=.~!@#%^&*-]{10,256})(?![A-Za-z0-9(])/dy;
const words = /[A-Za-z0-9+/_-]{32,}={0,2}/g;
const longestWord = 100;

/**
 * The secrets of a text by their shapes, by what is assigned to names, and by entropy. Private keys, which have lines, and
 * declared values are found by {@link Redactor}. Time linear in the text.
 */
export function findSecrets(text: string, declared: readonly string[]): readonly Span[] {
  return merged([...declaredSpans(text, declared), ...shapeSpans(text), ...assignedSpans(text), ...generatedSpans(text)]);
}

function declaredSpans(text: string, declared: readonly string[]): readonly Span[] {
  const spans: Span[] = [];
  for (const value of declared) {
    for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length))
      spans.push({ start: at, end: at + value.length, kind: 'Declared' });
  }
  return spans;
}

function shapeSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { kind, needs, pattern, isSecret } of shapes) {
    if (!needs.some((need) => text.includes(need))) continue;
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.groups?.['secret'] ?? match.indices?.[0] ?? [0, 0];
      if (isSecret?.(text.slice(start, end)) !== false) spans.push({ start, end, kind });
    }
  }
  return spans;
}

function assignedSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const name of text.matchAll(names)) {
    assignment.lastIndex = name.index + name[0].length;
    const value = assignment.exec(text)?.indices?.groups?.['value'];
    if (value !== undefined && looksAssigned(text.slice(...value))) spans.push({ start: value[0], end: value[1], kind: 'Assigned' });
  }
  return spans;
}

function generatedSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { 0: word, index } of text.matchAll(words)) {
    if (word.length > longestWord || isDigest(text, word, index) || isWrapped(text, word, index)) continue;
    if (looksGenerated(word)) spans.push({ start: index, end: index + word.length, kind: 'HighEntropy' });
  }
  return spans;
}

/** `sha512-…` of a lock file, `h1:…` of go.sum, `SHA256:…` of ssh. */
function isDigest(text: string, word: string, at: number): boolean {
  return /^sha\d{1,3}[-_]/i.test(word) || /(?:h1:|sha\d{1,3}[:=])$/i.test(text.slice(Math.max(0, at - 8), at));
}

/** A line of encoded data that goes on: certificates, attachments. */
function isWrapped(text: string, word: string, at: number): boolean {
  if (word.length !== 64 && word.length !== 76) return false;
  const alone = (char: string | undefined): boolean => char === undefined || char === '\n' || char === '\r';
  return alone(text[at - 1]) && alone(text[at + word.length]);
}
