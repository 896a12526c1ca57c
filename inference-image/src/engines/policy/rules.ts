import type { JudgedAct, PolicyLabel } from '@agentfleet/protocol/inference';
import { lex } from './words.ts';

/** What decides alone, because it is certain. */
export interface Rule {
  readonly name: string;
  readonly label: PolicyLabel;
  readonly applies: (act: JudgedAct, commands: readonly (readonly string[])[]) => boolean;
}

const everything = /^(\/\*?|~\/?\*?|\$\{?HOME\}?\/?\*?|\/(bin|boot|dev|etc|home|lib|opt|proc|root|sbin|srv|sys|usr|var)\/?\*?)$/;
const device = /^\/dev\/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|mapper\/)/;
const host = /^\/proc\/1\/(root|cwd|ns)(\/|$)/;

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
      /\b(ba)?sh\s+-i\b.*\/dev\/(tcp|udp)\//s.test(subject) ||
      commands.some(
        ([program = '', ...words]) => /^(nc|ncat|netcat)$/.test(program) && /(^| )-\w*[ec] ?\/?\S*\b(ba)?sh\b/.test(words.join(' ')),
      ),
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

/** The simple commands of a line, without what raises rights before them. */
function commandsOf(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const { kind, text } of lex(line)) {
    if (kind === 'Operator') commands.push([]);
    else if (commands.at(-1)?.length !== 0 || !['sudo', 'env', 'nohup', 'exec'].includes(text)) commands.at(-1)?.push(text);
  }
  return commands.filter((words) => words.length > 0);
}
