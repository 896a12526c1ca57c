import { mutate } from '../data/mutate.ts';
import type { Random } from '../numeric/random.ts';

/** A program with a fault, and which kind of negative it is. */
export interface Negative {
  readonly kind: string;
  readonly source: string;
}

type Sampler = (source: string, random: Random) => string | null;

/** Replaces one random match; null when there is none. */
function replaceOne(source: string, pattern: RegExp, instead: (match: RegExpExecArray) => string, random: Random): string | null {
  const sites = [...source.matchAll(pattern)].filter(({ index }) => index > source.indexOf('\n'));
  if (sites.length === 0) return null;
  const site = random.pick(sites);
  const text = instead(site);
  return text === site[0] ? null : source.slice(0, site.index) + text + source.slice(site.index + site[0].length);
}

const offByOne: Sampler = (source, random) =>
  replaceOne(
    source,
    /\brange\(([^()\n]+)\)|\[(\w+)\]|(?<= )(<=?|>=?)(?= )|\b(\d+)\b/g,
    ([whole, range, index, comparison, digits]) => {
      const step = random.next() < 0.5 ? '+' : '-';
      if (range !== undefined) return `range(${range} ${step} 1)`;
      if (index !== undefined) return `[${index} ${step} 1]`;
      if (comparison !== undefined) return comparison.endsWith('=') ? comparison.slice(0, 1) : `${comparison}=`;
      return digits === undefined ? whole : String(Math.max(0, Number(digits) + (step === '+' ? 1 : -1)));
    },
    random,
  );

/** Names that are called alike and do something else, or that are not there at all. */
const apis: readonly (readonly [string, string])[] = [
  ['append', 'add'],
  ['append', 'extend'],
  ['items', 'values'],
  ['get', 'pop'],
  ['strip', 'split'],
  ['join', 'format'],
  ['sorted', 'reversed'],
  ['min', 'max'],
  ['len', 'sum'],
  ['split', 'rsplit'],
  ['replace', 'strip'],
  ['enumerate', 'zip'],
  ['isdigit', 'isalpha'],
  ['update', 'setdefault'],
  ['lower', 'title'],
];

const wrongApi: Sampler = (source, random) => {
  const [from, to] = random.pick(apis);
  return replaceOne(source, new RegExp(String.raw`\b${from}(?=\()`, 'g'), () => to, random);
};

/** Two statements of one block the other way round. */
const reorderedPlan: Sampler = (source, random) =>
  replaceOne(
    source,
    /^( +)(?! |return|if|for|while|elif|else|try|except|with)([^\n]+[^:\n])\n\1(?! |elif|else|except|finally)([^\s\n][^\n]*[^:\n])$/gm,
    ([, indent = '', first = '', second = '']) => `${indent}${second}\n${indent}${first}`,
    random,
  );

/** A guard that is not there: the condition never holds. */
const droppedPrecondition: Sampler = (source, random) =>
  replaceOne(source, /^( +)if [^\n]+:\n\1 +(?:return|raise|continue|break)\b[^\n]*$/gm, ([, indent = '']) => `${indent}pass`, random);

export const samplers: Readonly<Record<string, Sampler>> = { offByOne, wrongApi, reorderedPlan, droppedPrecondition };

/** A random fault of a random kind; null when this kind has no place in the program. */
export function negativeOf(source: string, random: Random): Negative | null {
  const names = [...Object.keys(samplers), 'mutation'];
  const kind = random.pick(names);
  const sampler = samplers[kind];
  if (sampler === undefined) return mutate(source, random);
  const changed = sampler(source, random);
  return changed === null || changed === source ? null : { kind, source: changed };
}
