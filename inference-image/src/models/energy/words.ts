import type { Features } from '@agentfleet/protocol/inference';
import { before } from './encode.ts';

/** Buckets of hashed words. */
export const wordBuckets = 8192;
const maxChars = 8192;

/** Linear energy over words of a command or a file and what is known before the act: for heads with little data. */
export interface WordModel {
  /** `wordBuckets` signed bytes, base64. */
  readonly weights: string;
  /** Value of the step ±1. */
  readonly scale: number;
  /** Per feature of `before`, by name: weight of its value, and of its being there. */
  readonly dense: Readonly<Record<string, readonly [value: number, presence: number]>>;
  readonly offset: number;
  /** All of the energy is divided by it. */
  readonly temperature: number;
}

/** Buckets that a text fills; each counts once, all of them together have length 1. */
export function wordsOf(text: string): Int32Array {
  const found = new Set<number>();
  let last = '^';
  for (const word of text.slice(0, maxChars).match(/[A-Za-z_][\w]*|-{1,2}[A-Za-z][\w-]*|\/[\w.-]*|\d+|[|&;<>$]+|[^\s\w]/g) ?? []) {
    const token = /^\d/.test(word) ? '0' : word.toLowerCase();
    found.add(hash(token));
    found.add(hash(`${last} ${token}`));
    last = token;
  }
  return Int32Array.from(found).sort();
}

/** Energy of a text with its features. */
export function wordEnergy(model: WordModel, table: Int8Array, text: string, features: Features): number {
  const words = wordsOf(text);
  const norm = Math.sqrt(words.length) || 1;
  let energy = model.offset;
  for (const at of words) energy += (model.scale * (table[at] ?? 0)) / norm;
  for (const { name, scale } of before) {
    const value = features[name];
    const [slope, presence] = model.dense[name] ?? [0, 0];
    if (value !== undefined) energy += slope * Math.max(-5, Math.min(5, scale(value))) + presence;
  }
  return energy / model.temperature;
}

/** The table of a model. @throws Error when it has another size */
export function tableOf({ weights }: WordModel): Int8Array {
  const table = new Int8Array(Buffer.from(weights, 'base64'));
  if (table.length !== wordBuckets) throw new Error(`its words have ${table.length} weights, not ${wordBuckets}`);
  return table;
}

/** FNV-1a with a last mix, as for n-grams. */
function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) % wordBuckets;
}
