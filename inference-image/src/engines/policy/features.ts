import type { JudgedAct } from '@agentfleet/protocol/inference';
import { concepts } from './lexicon.ts';
import { lex } from './words.ts';
import { wordTokens } from './wordTokens.ts';

/** Buckets of hashed features, a power of two; the weights of one class. */
export const buckets = 32_768;
/** Characters that are looked at: acts may be far longer than what tells their kind. */
const maxChars = 16_384;

/** What is known about an act, as a set of texts. */
export function featuresOf(act: Pick<JudgedAct, 'tool' | 'subject' | 'content'>): ReadonlySet<string> {
  const features = new Set<string>([`tool:${act.tool}`]);
  if (act.tool !== 'FileWrite') commandFeatures(act.subject.slice(0, maxChars), features);
  else {
    for (const token of wordTokens(act.subject.includes('/') ? act.subject : `./${act.subject}`)) features.add(`file^${token}`);
    for (const line of (act.content ?? '').slice(0, maxChars).split('\n')) lineFeatures(line, features);
  }
  return features;
}

/** Words, words with their program, neighbours, and which program feeds which. */
function commandFeatures(line: string, features: Set<string>): void {
  let program = '';
  let fed = '';
  let before = '^';
  for (const { kind, text } of lex(line)) {
    if (kind === 'Operator') {
      features.add(`op:${text}`);
      fed = text === '|' ? program : '';
      if (!text.startsWith('>') && !text.startsWith('<')) program = '';
      before = text;
      continue;
    }
    const tokens = wordTokens(text);
    const isName = program === '' && !/^[A-Za-z_]\w*=/.test(text) && !['sudo', 'env', 'nohup', 'exec', 'time', 'then', 'do'].includes(text);
    if (isName) {
      program = (text.split('/').at(-1) ?? text).toLowerCase().replaceAll(/\d+/g, '');
      features.add(`program:${program}`);
      if (fed !== '') features.add(`pipe:${fed}|${program}`);
    }
    for (const token of tokens) {
      features.add(token);
      if (!isName) features.add(`${program}^${token}`);
      features.add(`${before}_${token}`);
    }
    before = tokens[0] ?? '';
  }
}

/** Words of a line of program text, and neighbours. */
function lineFeatures(line: string, features: Set<string>): void {
  let before = '^';
  for (const word of line.split(/[\s()[\]{},;"'`<>|&!*+]+/)) {
    if (word === '') continue;
    const parts = word.includes('/') || word.startsWith('-') ? [word] : word.split(/[.:=@]+/).filter((part) => part !== '');
    for (const part of parts) {
      const tokens = wordTokens(part);
      for (const token of tokens) features.add(`text:${token}`);
      features.add(`text:${before}_${tokens[0] ?? ''}`);
      before = tokens[0] ?? '';
    }
  }
}

/** Bucket of a feature: FNV-1a over UTF-16 units. */
export function bucketOf(feature: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < feature.length; at += 1) hash = Math.imul(hash ^ feature.charCodeAt(at), 0x01000193);
  // The low bits alone mix badly.
  return ((hash >>> 15) ^ hash) & (buckets - 1);
}

/** Concepts that the act shows, and pairs of them. */
export function conceptsOf({ subject, content = '' }: Pick<JudgedAct, 'subject' | 'content'>): readonly string[] {
  const text = `${subject}\n${content}`.slice(0, maxChars);
  const shown = Object.keys(concepts).filter((name) => concepts[name]?.test(text));
  const pairs = shown.flatMap((one, at) => shown.slice(at + 1).map((other) => `${one}&${other}`));
  return [...shown, ...pairs];
}

/** A bucket and what is added there. */
export type Encoded = readonly (readonly [bucket: number, value: number])[];

/** What one concept and a pair of them add, beside words that share a unit length. */
const single = 2;
const pair = 0.5;

/** Words count little each; concepts much, once for all acts and once for acts of this kind. */
export function encode(act: Parameters<typeof featuresOf>[0]): Encoded {
  const words = [...new Set([...featuresOf(act)].map(bucketOf))];
  const kind = act.tool === 'FileWrite' ? 'text' : 'command';
  const shown = conceptsOf(act).flatMap((concept) => {
    const value = concept.includes('&') ? pair : single;
    return [[bucketOf(`concept:${concept}`), value] as const, [bucketOf(`concept:${kind}:${concept}`), value] as const];
  });
  return [...words.map((bucket) => [bucket, 1 / Math.sqrt(words.length)] as const), ...shown];
}
