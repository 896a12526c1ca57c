import type { Random } from '../numeric/random.ts';

/** A bug: what was planted, and the program with it. */
export interface Bug {
  readonly kind: string;
  readonly source: string;
}

interface Mutator {
  readonly kind: string;
  readonly pattern: RegExp;
  /** Texts that may stand instead of a match. */
  readonly instead: (match: RegExpExecArray, names: readonly string[]) => readonly string[];
}

const swaps = (kind: string, pairs: readonly (readonly [string, string])[]): readonly Mutator[] =>
  pairs.flatMap(([a, b]) => [
    { kind, pattern: literal(a), instead: () => [b] },
    { kind, pattern: literal(b), instead: () => [a] },
  ]);

const drops = (kind: string, texts: readonly RegExp[], rest = ''): readonly Mutator[] =>
  texts.map((pattern) => ({ kind, pattern, instead: (match) => [match[1] ?? rest] }));

function literal(text: string): RegExp {
  const escaped = text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(/^\w/.test(text) ? `\\b${escaped}\\b` : escaped, 'g');
}

/** Kinds of bugs that people make, as replacements of text. */
const mutators: readonly Mutator[] = [
  ...swaps('boundary', [
    [' < ', ' <= '],
    [' > ', ' >= '],
    [' == ', ' != '],
    [' < ', ' > '],
    [' <= ', ' >= '],
  ]),
  ...swaps('sign', [
    [' + ', ' - '],
    [' * ', ' + '],
    [' // ', ' / '],
    [' % ', ' // '],
    [' += ', ' -= '],
    [' += ', ' = '],
  ]),
  ...swaps('logic', [
    [' and ', ' or '],
    ['True', 'False'],
    ['any', 'all'],
    [' in ', ' not in '],
  ]),
  ...swaps('wrong call', [
    ['min', 'max'],
    ['upper', 'lower'],
    ['append', 'extend'],
    ['strip', 'lstrip'],
    ['rstrip', 'strip'],
    ['startswith', 'endswith'],
    ['find', 'rfind'],
    ['keys', 'values'],
    ['sum', 'len'],
    ['setdefault', 'get'],
    ['pop(0)', 'pop()'],
    ['break', 'continue'],
  ]),
  ...drops('missing part', [
    / not (?=\w)/g,
    /, reverse=True/g,
    /\.(?:lower|upper|strip|rstrip)\(\)/g,
    / \+ 1\b/g,
    / - 1\b/g,
    /\babs(\(\w+\))/g,
  ]),
  ...drops('missing part', [/\bsorted(\(\w+\))/g, /\[::-1\]/g, / if [^:\n]+ else [^\n\])]+/g, / and [^:\n]+(?=:)/g, / or [^:\n]+(?=:)/g]),
  { kind: 'constant', pattern: /\b\d+\b/g, instead: ([digits]) => constants(Number(digits)) },
  {
    kind: 'wrong name',
    pattern: /\b[a-z_]\w*\b/g,
    instead: ([name], names) => (names.includes(name) ? names.filter((other) => other !== name) : []),
  },
  { kind: 'swapped arguments', pattern: /\((\w+), (\w+)\)/g, instead: ([, a, b]) => [`(${b}, ${a})`] },
  { kind: 'range', pattern: /\brange\((\w+)\)/g, instead: ([, end]) => [`range(1, ${end})`, `range(${end} - 1)`, `range(${end} + 1)`] },
  { kind: 'index', pattern: /\[(\w+)\]/g, instead: ([, at]) => [`[${at} - 1]`, `[${at} + 1]`] },
  {
    kind: 'missing statement',
    pattern: /^ +(?!return|if|for|while|elif|else|def|continue)[^\n]*[^:\n]$/gm,
    instead: ([line]) => [`${indentOf(line)}pass`],
  },
  { kind: 'early end', pattern: /^ +return [^\n]+$/gm, instead: ([line]) => [`    ${line}`, line.replace(/^ {4}(?= )/, '')] },
  {
    kind: 'wrong result',
    pattern: /\breturn (\w+)$/gm,
    instead: ([, name], names) => names.filter((other) => other !== name).map((other) => `return ${other}`),
  },
  { kind: 'elif', pattern: /\belif\b/g, instead: () => ['if'] },
  { kind: 'dedent', pattern: /^ {8,}[a-z]\w* [+-]?= [^\n]+$/gm, instead: ([line]) => [line.slice(4)] },
];

function constants(value: number): readonly string[] {
  return [value + 1, Math.max(0, value - 1), value * 10, 0].filter((other) => other !== value).map(String);
}

const indentOf = (line: string): string => /^ */.exec(line)?.[0] ?? '';

/** One random bug, or null when a mutator found no place. */
export function mutate(source: string, random: Random): Bug | null {
  const mutator = random.pick(mutators);
  const names = localNames(source);
  const quoted = [...source.matchAll(/'[^'\n]*'|"[^"\n]*"/g)].map(({ index, 0: text }) => [index, index + text.length] as const);
  const free = (at: number): boolean => quoted.every(([from, to]) => at < from || at >= to);
  const sites = [...source.matchAll(mutator.pattern)].filter(({ index }) => free(index) && index > source.indexOf('\n'));
  if (sites.length === 0) return null;
  const site = random.pick(sites);
  const texts = mutator.instead(site, names);
  if (texts.length === 0) return null;
  const changed = source.slice(0, site.index) + random.pick(texts) + source.slice(site.index + site[0].length);
  return changed === source ? null : { kind: mutator.kind, source: changed };
}

/** Parameters and assigned names, in the order of their first use. */
function localNames(source: string): readonly string[] {
  const parameters =
    /\(([^)]*)\)/
      .exec(source)?.[1]
      ?.split(',')
      .map((part) => part.split('=')[0]?.trim() ?? '') ?? [];
  const assigned = [...source.matchAll(/^\s*(?:for )?(\w+)(?:, (\w+))?(?: [+-]?= | in )/gm)].flatMap(([, a, b]) => [a, b]);
  return [...new Set([...parameters, ...assigned])].filter((name): name is string => name !== undefined && /^[a-z]\w*$/.test(name));
}
