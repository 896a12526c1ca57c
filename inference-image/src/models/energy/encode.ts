import type { Features, ScoreItem } from '@agentfleet/protocol/inference';

/** Words with the same meaning in every program; all other names become one token, so that weights generalize. */
const words = `
False None True and as assert async await break case catch class const continue def del do elif else except export extends
finally for from function global if import in instanceof is lambda let new nonlocal not null of or pass raise return self
static super switch this throw try typeof undefined var void while with yield
abs all any append bool chr copy count dict divmod endswith enumerate extend filter find float format get index insert int
isalpha isdigit isinstance items join key keys len length list lower lstrip map max min next open ord pop print push range
remove replace reverse reversed round rstrip set setdefault slice sort sorted split splitlines startswith str strip sum
tuple type update upper values zip
KeyError ValueError TypeError IndexError Exception Error
cat cd chmod chown cp curl dd docker echo env eval exec find git grep install kill kubectl ls make mkdir mv node npm npx pip
python python3 pytest rm sed sh ssh sudo tar test touch wget
`;

const known: ReadonlySet<string> = new Set(words.split(/\s+/).filter((word) => word !== ''));

/** Returns words, numbers and signs of one line, without program-specific names. */
function tokensOf(line: string): string[] {
  const raw = line.match(/[A-Za-z_]\w*|\d+|[^\s\w]{1,2}/g) ?? [];
  return raw.map((token) => {
    if (/^\d/.test(token)) return token.length === 1 && token < '3' ? token : 'NUMBER';
    return /^[A-Za-z_]/.test(token) && !known.has(token) ? 'NAME' : token;
  });
}

/** Buckets of the hashed n-grams. */
export const buckets = 1024;
/** UTF-16 units that the n-grams are made of: what stands behind them is read in a window of its own. */
export const gramChars = 4000;

type FeatureName = keyof Features;

const log = (value: number): number => Math.sign(value) * Math.log1p(Math.abs(value));
const plain = (value: number): number => value;

/** Features that are known before the act, each with the scale on which the model sees it. */
export const before: readonly { readonly name: FeatureName; readonly scale: (value: number) => number }[] = [
  { name: 'proposalShare', scale: (share) => Math.log(share + 1e-4) },
  { name: 'rank', scale: log },
  { name: 'edits', scale: plain },
  { name: 'files', scale: plain },
  { name: 'charsAdded', scale: log },
  { name: 'charsRemoved', scale: log },
  { name: 'suspicion', scale: plain },
  { name: 'likelihoodGain', scale: log },
  { name: 'specCosine', scale: plain },
  { name: 'policyUnsafe', scale: plain },
  { name: 'railRank', scale: plain },
  // Since features/v2.
  ...(['forbidden', 'outsidePaths', 'privileges', 'network', 'secrets', 'hiddenCode', 'startup', 'records', 'repeats'] as const).map(
    (name) => ({ name, scale: log }),
  ),
  { name: 'unchecked', scale: log },
  { name: 'breadth', scale: log },
  { name: 'docTestDelta', scale: log },
  // Since features/v3.
  ...(['forced', 'guards', 'backups', 'commands', 'changingCommands', 'unknownCommands'] as const).map((name) => ({ name, scale: log })),
  { name: 'dryRunShare', scale: plain },
  ...(['insideTargets', 'outsideTargets', 'wholeTargets', 'uncovered', 'regenerable', 'outsideReads', 'dynamicWords'] as const).map(
    (name) => ({ name, scale: log }),
  ),
  ...(['wildcards', 'objections', 'selfRunning', 'testSenses', 'apiMismatch', 'brokenNodes'] as const).map((name) => ({
    name,
    scale: log,
  })),
];

/** Number of features, from the first, that models of older feature sets have. */
export const knownBefore = { 'features/v1': 11, 'features/v2': 23, 'features/v3': before.length } as const;

/** One term of f(x): null when a feature that it needs was not measured. */
interface Term {
  readonly name: string;
  /** Sign that the weight may have, so that more harm never lowers the energy; 0: any. */
  readonly sign: -1 | 0 | 1;
  readonly of: (features: Features) => number | null;
}

const amount = (name: FeatureName, sign: Term['sign']): Term => ({
  name,
  sign,
  of: (features) => scaled(features[name], log),
});

const present = (name: FeatureName, sign: Term['sign']): Term => ({
  name: `${name}>0`,
  sign,
  of: (features) => scaled(features[name], (value) => (value > 0 ? 1 : 0)),
});

const shareOf = (name: FeatureName, sign: Term['sign']): Term => ({
  name: `${name}/testsTotal`,
  sign,
  of: (features) => {
    const [part, total] = [features[name], features.testsTotal];
    return part === undefined || total === undefined || total === 0 ? null : Math.min(1, part / total);
  },
});

function scaled(value: number | undefined, scale: (value: number) => number): number | null {
  return value === undefined ? null : scale(value);
}

/** f(x): measurements of the act's execution. The terms of each feature grow with it; their weights keep their signs. */
export const executed: readonly Term[] = [
  amount('compileErrors', 1),
  present('compileErrors', 1),
  amount('testsFailed', 1),
  present('testsFailed', 1),
  shareOf('testsFailed', 1),
  amount('testsFixed', -1),
  present('testsFixed', -1),
  shareOf('testsFixed', -1),
  amount('testsBroken', 1),
  present('testsBroken', 1),
  shareOf('testsBroken', 1),
  present('testsSkipped', 1),
  present('timedOut', 1),
  present('crashed', 1),
  amount('complexityDelta', 0),
  amount('lintDelta', 1),
];

const executedNames: readonly FeatureName[] = [
  ...(['compileErrors', 'testsTotal', 'testsFailed', 'testsFixed', 'testsBroken', 'testsSkipped'] as const),
  ...(['timedOut', 'crashed', 'complexityDelta', 'lintDelta'] as const),
];

/** Reports whether anything was measured by running the act. */
export function ran(features: Features): boolean {
  return executedNames.some((name) => features[name] !== undefined);
}

/** Buckets with their values; of length 1 together. */
export interface Grams {
  readonly at: Int32Array;
  readonly value: Float32Array;
}

/**
 * n-grams of a text: single tokens and pairs, apart for added (`+`), removed (`-`) and other lines, and the operator. The hash
 * decides the bucket and the sign (feature hashing: K. Weinberger et al., ICML 2009).
 */
export function gramsOf({ text, operator }: Pick<ScoreItem, 'text' | 'operator'>): Grams {
  const values = new Map<number, number>();
  const add = (gram: string, weight: number): void => {
    const hash = fnv(gram);
    const at = hash % buckets;
    values.set(at, (values.get(at) ?? 0) + ((hash >>> 16) & 1 ? weight : -weight));
  };
  for (const part of operator.split('+')) add(`operator:${part}`, 3);
  for (const line of text.slice(0, gramChars).split('\n')) {
    const mark = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
    const weight = mark === ' ' ? 0.25 : 1;
    let last = '^';
    for (const token of tokensOf(mark === ' ' ? line : line.slice(1))) {
      add(`${mark}${token}`, weight);
      add(`${mark}${last} ${token}`, weight);
      last = token;
    }
  }
  const kept = [...values].filter(([, value]) => value !== 0).sort(([a], [b]) => a - b);
  const norm = Math.sqrt(kept.reduce((sum, [, value]) => sum + value * value, 0)) || 1;
  return { at: Int32Array.from(kept, ([at]) => at), value: Float32Array.from(kept, ([, value]) => value / norm) };
}

/** FNV-1a with a last mix, so that low bits depend on all of the text. */
export function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
