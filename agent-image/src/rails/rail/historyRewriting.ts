import { verbWords } from '../shell/readOnly.ts';
import { lookup } from '../shell/lookup.ts';
import { hasFlag, operands, type Command } from '../shell/command.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

/** What git cannot bring back, or not easily; a snapshot can. */
const verbs: Readonly<Record<string, (command: Command, rest: readonly string[]) => boolean>> = {
  reset: (_command, rest) => rest.some((text) => /^--(?:hard|merge|keep)$/.test(text)),
  checkout: (command, rest) => rest.includes('--') || rest.includes('.') || hasFlag(command, 'fB', '--force'),
  restore: (_command, rest) => !rest.includes('--staged') || rest.includes('--worktree'),
  switch: (command) => hasFlag(command, 'fC', '--force', '--discard-changes'),
  rebase: (_command, rest) => !rest.some((text) => /^--(?:abort|show-current-patch)$/.test(text)),
  'filter-branch': () => true,
  'filter-repo': () => true,
  replace: () => true,
  stash: (_command, rest) => /^(?:drop|clear|pop)$/.test(rest[0] ?? ''),
  branch: (command) => hasFlag(command, 'DdMf', '--delete', '--force'),
  tag: (command) => hasFlag(command, 'df', '--delete', '--force'),
  commit: (_command, rest) => rest.includes('--amend'),
  reflog: (_command, rest) => /^(?:expire|delete)$/.test(rest[0] ?? ''),
  gc: (_command, rest) => rest.some((text) => text.startsWith('--prune') || text === '--aggressive'),
  prune: () => true,
  'update-ref': () => true,
  push: (command, rest) => hasFlag(command, 'fd', '--force', '--delete', '--mirror') || rest.some((text) => /^\+|^:/.test(text)),
  worktree: (_command, rest) => rest[0] === 'remove' || rest[0] === 'prune',
  clean: (command, rest) => hasFlag(command, 'f', '--force') && !rest.some((text) => /^(?:-[a-z]*n|--dry-run)/.test(text)),
  revert: () => true,
  am: () => true,
  'read-tree': (_command, rest) => rest.includes('--reset') || rest.includes('-u'),
};

/** History or uncommitted work is thrown away: allowed, after a snapshot. */
export const historyRewriting: Rail = {
  id: 'history-rewriting',
  title: 'git commands that throw away history or uncommitted work',
  severity: 'Reversible',
  risk: 'Reversible',
  cure: 'A snapshot is taken first; nothing to do.',
  check(command) {
    if (command.name !== 'git') return command.name === 'rm' ? removedRepository(command) : nothing;
    const words = verbWords(command);
    const [verb = '', ...rest] = words;
    const own = { ...command, argv: command.argv.slice(command.argv.findIndex((value) => value.text === verb)) };
    return lookup(verbs, verb)?.(own, rest) === true ? found('Reversible', `git ${verb} throws away history or uncommitted work`) : nothing;
  },
};

function removedRepository(command: Command): readonly Found[] {
  return operands(command).some((text) => /(?:^|\/)\.git(?:\/|$)/.test(text))
    ? found('Reversible', 'rm deletes the repository itself')
    : nothing;
}
