// agent-image, rails/shell: files that a command reads and writes. May import rails/verdict and rails/syntax, no rail.
import { args, hasFlag, operands, type Command } from './command.ts';

/** Commands whose operands are all written or removed. */
const writesAll = new Set('tee touch mkdir rm rmdir unlink shred truncate mkfifo mknod fallocate sponge'.split(' '));
/** Commands whose last operand is written. */
const writesLast = new Set(['cp', 'mv', 'install', 'ln', 'rsync', 'link']);
/** Commands whose first operand is a mode or owner. */
const writesRest = new Set(['chmod', 'chown', 'chgrp', 'setfacl', 'chattr']);

/** Words that name what a command writes, creates or removes. */
export function writeTargets(command: Command): readonly string[] {
  const out = command.redirects.filter((one) => one.operator.includes('>')).map((one) => one.target.text);
  const words = operands(command);
  const all = args(command);
  const { name } = command;
  if (writesAll.has(name))
    out.push(...(name === 'truncate' || name === 'fallocate' ? words.filter((word) => !/^[+-]?\d+[KMGTP]?i?B?$/i.test(word)) : words));
  else if (writesLast.has(name)) out.push(...lastTarget(command, words));
  else if (writesRest.has(name)) out.push(...words.slice(1));
  else if (name === 'uniq' || name === 'xxd') out.push(...words.slice(1, 2));
  else if (name === 'dd') out.push(...all.filter((word) => word.startsWith('of=')).map((word) => word.slice(3)));
  else if (/^g?sed$/.test(name) && hasFlag(command, 'i', '--in-place'))
    out.push(...words.slice(all.some((word) => /^-\w*e$|^--expression/.test(word)) ? 0 : 1));
  else if (/^(?:perl|ruby)$/.test(name) && all.some((word) => /^-[a-zA-Z0-9]*i/.test(word)))
    out.push(...words.slice(all.some((word) => /^-\w*e$/.test(word)) ? 1 : 0));
  else if (/^(?:curl|wget|sort|gcc|cc|g\+\+|clang|go|rustc)$/.test(name))
    out.push(...optionValues(all, /^(?:-[oO]|--output|--output-document)$/, name));
  else if (/^(?:tar|bsdtar|unzip|git)$/.test(name)) out.push(...folderOptions(name, all));
  return out;
}

function lastTarget(command: Command, words: readonly string[]): readonly string[] {
  const all = args(command);
  const at = all.findIndex((word) => word === '-t' || word === '--target-directory');
  if (at >= 0) return all.slice(at + 1, at + 2);
  const moved = command.name === 'mv' ? words.slice(0, -1) : [];
  return words.length > 1 && !/^[\w.-]+(?:@[\w.-]*)?:/.test(words.at(-1) as string) ? [...moved, ...words.slice(-1)] : [];
}

function optionValues(all: readonly string[], option: RegExp, name: string): readonly string[] {
  return all.flatMap((word, i) => {
    if (name === 'curl' && word === '-O') return [];
    const [, attached] = /^--output(?:-document)?=(.+)$/.exec(word) ?? [];
    const next = all[i + 1];
    return attached !== undefined ? [attached] : option.test(word) && next !== undefined && next !== '-' ? [next] : [];
  });
}

function folderOptions(name: string, all: readonly string[]): readonly string[] {
  if (name === 'git' && all[0] === 'archive') return optionValues(all, /^(?:-o|--output)$/, name);
  if (name === 'git') return all[0] === 'clone' ? all.filter((word) => !word.startsWith('-')).slice(2) : [];
  const extracts =
    name === 'unzip' ||
    all.some((word, i) => /^--extract$/.test(word) || (i === 0 ? /^-?[a-zA-Z]*x/.test(word) : /^-[a-zA-Z]*x/.test(word)));
  const at = all.findIndex((word) => word === (name === 'unzip' ? '-d' : '-C') || word === '--directory');
  return extracts && at >= 0 ? all.slice(at + 1, at + 2) : [];
}

const namesOnly = new Set(
  'ls stat test [ touch echo printf rm mkdir chmod git cd basename dirname which export local tee find ln'.split(' '),
);

/** Words that name what a command reads the content of. */
export function readTargets(command: Command): readonly string[] {
  const out = command.redirects.filter((one) => one.operator === '<').map((one) => one.target.text);
  const words = operands(command);
  const { name } = command;
  if (namesOnly.has(name))
    return name === 'git' ? [...out, ...words.filter((word) => word.includes(':')).map((word) => word.split(':')[1] as string)] : out;
  if (/^(?:[efz]?grep|rg|ag|sed|awk|gawk|jq|yq)$/.test(name)) return [...out, ...words.slice(1)];
  if (/^(?:cp|mv|install)$/.test(name)) return [...out, ...words.slice(0, -1)];
  if (/^(?:openssl|ssh-keygen|age-keygen)$/.test(name)) return [...out, ...keysRead(name, args(command))];
  if (name === 'dd') return [...out, ...words.filter((word) => word.startsWith('if=')).map((word) => word.slice(3))];
  const values = args(command).flatMap((word) => /^(?:@|[\w-]+=@|--?[\w-]+=@?|[A-Za-z_]+=@)(.+)$/.exec(word)?.[1] ?? []);
  return [
    ...out,
    ...words,
    ...values,
    ...args(command)
      .filter((word) => /^-[TdF]@?./.test(word))
      .map((word) => word.slice(2).replace(/^@/, '')),
  ];
}

/** Files of keys that are read; those that are made are named by options of their own. */
function keysRead(name: string, all: readonly string[]): readonly string[] {
  const tool = { openssl: /^-(?:out|keyout|CAserial)$/, 'age-keygen': /^(?:-o|--output)$/ }[name];
  const made = tool ?? (all.some((word) => /^-[ylpRFe]/.test(word)) ? /^-$/ : /^-f$/);
  return all.filter((word, at) => !word.startsWith('-') && !made.test(all[at - 1] ?? ''));
}
