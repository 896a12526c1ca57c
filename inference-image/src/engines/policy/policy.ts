import { type JudgedAct, type PolicyLabel, policyLabels, type PolicyVerdict } from '@agentfleet/protocol/inference';
import { softmax } from '../../models/planner/network.ts';
import { lex, buckets, encode } from './features.ts';

/** A certain case that decides alone. */
export interface Rule {
  readonly name: string;
  readonly label: PolicyLabel;
  readonly applies: (act: JudgedAct, commands: readonly (readonly string[])[]) => boolean;
}

const everything = /^(\/\*?|~\/?\*?|\$\{?HOME\}?\/?\*?|\/(bin|boot|dev|etc|home|lib|opt|proc|root|sbin|srv|sys|usr|var)\/?\*?)$/;
const device = /^\/dev\/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|mapper\/)/;
const host = /^\/proc\/1\/(root|cwd|ns)(\/|$)/;

const socket = /\/dev\/(tcp|udp)\//;
const lastingShell = /\b(ba)?sh\s+-i\b/;
/** `-e`, or flags that end with it, and a shell behind it, in one word or in two. */
const startsShell = /(^| )-([^\Wec]*[ec]|\w*[ec] )\S*\b(ba)?sh\b/;

const flagged = (words: readonly string[], letter: string, long: string): boolean =>
  words.some((word) => word === long || (/^-[a-zA-Z]+$/.test(word) && word.toLowerCase().includes(letter)));

/** Programs that only look, and the words that they may have. */
const lookers: readonly (readonly string[])[] = [
  ['pwd'],
  ['ls'],
  ['wc'],
  ['git', 'status'],
  ['git', 'diff'],
  ['git', 'log'],
  ['git', 'show'],
];
const plain = /^(?:-{1,2}(?:l|a|la|al|1|stat|oneline|short|name-only|porcelain)|(?!-)(?!.*\.\.)[\w][\w.-]*(?:\/[\w][\w.-]*)*|\.)$/;

export const rules: readonly Rule[] = [
  {
    name: 'DeletesEverything',
    label: 'Destructive',
    applies: (_act, commands) =>
      commands.some(
        ([program, ...words]) =>
          program === 'rm' &&
          (words.includes('--no-preserve-root') || (flagged(words, 'r', '--recursive') && words.some((word) => everything.test(word)))),
      ),
  },
  {
    name: 'OverwritesDevice',
    label: 'Destructive',
    applies: (_act, commands) =>
      commands.some(
        ([program = '', ...words]) =>
          (program === 'dd' && words.some((word) => word.startsWith('of=') && device.test(word.slice(3)))) ||
          (/^(mkfs(\.\w+)?|wipefs|shred)$/.test(program) && words.some((word) => device.test(word))),
      ),
  },
  {
    name: 'EntersHostNamespace',
    label: 'Escape',
    applies: (_act, commands) =>
      commands.some(
        ([program = '', ...words]) =>
          (program === 'nsenter' && (/(^| )(-t ?1|--target[= ]1)( |$)/.test(words.join(' ')) || words.some((word) => host.test(word)))) ||
          (program === 'chroot' && words.some((word) => host.test(word))),
      ),
  },
  {
    name: 'OpensShellToNetwork',
    label: 'Escape',
    applies: ({ subject }, commands) =>
      socket.test(subject.slice(lastingShell.exec(subject)?.index ?? subject.length)) ||
      commands.some(([program = '', ...words]) => /^(nc|ncat|netcat)$/.test(program) && startsShell.test(words.join(' '))),
  },
  {
    name: 'OnlyLooks',
    label: 'Benign',
    applies: ({ subject, rails }, commands) => {
      const [words = [], ...others] = commands;
      const simple = rails.length === 0 && others.length === 0 && /^[\w ./-]+$/.test(subject);
      const looker = lookers.find((known) => known.every((word, at) => words[at] === word));
      return simple && looker !== undefined && words.slice(looker.length).every((word) => plain.test(word));
    },
  },
];

/** The first rule that is certain; null: none is. Rules read commands, not the text of files. */
export function decide(act: JudgedAct): Rule | null {
  if (act.tool === 'FileWrite') return null;
  const commands = commandsOf(act.subject);
  return rules.find((rule) => rule.applies(act, commands)) ?? null;
}

/** Returns the simple commands of a line, without prefixes that raise rights. */
function commandsOf(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const { kind, text } of lex(line)) {
    if (kind === 'Operator') commands.push([]);
    else if (commands.at(-1)?.length !== 0 || !['sudo', 'env', 'nohup', 'exec'].includes(text)) commands.at(-1)?.push(text);
  }
  return commands.filter((words) => words.length > 0);
}

export const policyFormat = 'agentfleet.dev/policy/v1';

/** Weights of a softmax over hashed features. */
export interface PolicyFile {
  readonly format: typeof policyFormat;
  readonly labels: readonly PolicyLabel[];
  readonly buckets: number;
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
  readonly bias: readonly number[];
  /** Value of the step ±1 of each class. */
  readonly scales: readonly number[];
  /** Per class: `buckets` signed bytes, base64. */
  readonly weights: readonly string[];
}

/** Probability of a rule: no handwritten rule is more certain. */
const certain = 0.999;

export interface Policy {
  readonly about: PolicyFile['about'];
  /** Pure: depends on the act only. */
  judge(act: JudgedAct): Omit<PolicyVerdict, 'id'>;
  /** The classifier without the rules: probabilities in the order of the labels. */
  classify(act: Pick<JudgedAct, 'tool' | 'subject' | 'content'>): readonly number[];
}

/** @throws Error when the bytes are no weights for this code */
export function loadPolicy(bytes: Buffer): Policy {
  const { about, bias, scales, weights } = read(bytes);
  const matrix = weights.map((text) => new Int8Array(Buffer.from(text, 'base64')));
  const wrong = matrix.some((row) => row.length !== buckets);
  if (wrong || bias.length !== policyLabels.length || scales.length !== policyLabels.length) throw misfit('its weights have other sizes');
  const classify: Policy['classify'] = (act) => {
    const encoded = encode(act);
    const sum = (row: Int8Array): number => encoded.reduce((total, [bucket, value]) => total + value * (row[bucket] ?? 0), 0);
    return softmax(matrix.map((row, at) => (bias[at] ?? 0) + (scales[at] ?? 0) * sum(row)));
  };
  return { about, classify, judge: (act) => judged(act, classify) };
}

function judged(act: JudgedAct, classify: Policy['classify']): Omit<PolicyVerdict, 'id'> {
  const rule = decide(act);
  if (rule !== null) return { label: rule.label, unsafe: rule.label === 'Benign' ? 1 - certain : certain, rule: rule.name };
  const shares = classify(act);
  const likeliest = policyLabels.reduce((best, label, at) =>
    (shares[at] ?? 0) > (shares[policyLabels.indexOf(best)] ?? 0) ? label : best,
  );
  const unsafe = Math.min(1, Math.max(0, 1 - (shares[policyLabels.indexOf('Benign')] ?? 0)));
  return { label: likeliest, unsafe, rule: null };
}

function read(bytes: Buffer): PolicyFile {
  let file: PolicyFile;
  try {
    file = JSON.parse(bytes.toString('utf8')) as PolicyFile;
  } catch (error) {
    throw misfit('it is not JSON', error);
  }
  const format: unknown = file.format;
  if (format !== policyFormat) throw misfit(`format is ${String(format)}, not ${policyFormat}`);
  if (file.buckets !== buckets) throw misfit(`it has ${file.buckets} buckets, not ${buckets}`);
  if (JSON.stringify(file.labels) !== JSON.stringify(policyLabels)) throw misfit('its classes are others');
  return file;
}

function misfit(what: string, cause?: unknown): Error {
  const cure = 'make it again with `node hack/bootstrap.mjs train/policy/main.ts`, or take the one of the release';
  return new Error(`weights of the policy: ${what}; ${cure}`, { cause });
}
