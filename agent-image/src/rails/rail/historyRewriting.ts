import { verbWords } from '../shell/readOnly.ts';
import { lookup, hasFlag, operands, type Command } from '../shell/command.ts';
import { hasHole } from '../shell/marks.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

/** Commands whose losses git cannot bring back, or not easily; a snapshot can. */
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

const released = /^v?\d+\.\d+(?:\.\d+)*$/;

/** Describes a loss that cannot be looked through before: all stashes, what only the reflog held, branches of a list made by the run. */
function lost(command: Command, verb: string, rest: readonly string[]): string | null {
  if (verb === 'stash' && rest[0] === 'clear') return 'throws away every stash';
  if (verb === 'reflog' && rest[0] === 'expire' && rest.some((text) => /^--expire(?:-unreachable)?=(?:now|all|0)$/.test(text)))
    return 'forgets where branches were';
  if (verb === 'gc' && rest.some((text) => /^--prune=(?:now|all)$/.test(text))) return 'deletes what only the reflog held';
  if (verb === 'tag' && hasFlag(command, 'd', '--delete') && operands(command).some(hasHole))
    return 'deletes tags that only the run would tell';
  if (verb === 'tag' && hasFlag(command, 'f', '--force') && operands(command).some((text) => released.test(text)))
    return 'moves the tag of a release, which others have';
  if (verb === 'branch' && hasFlag(command, 'D') && operands(command).some(hasHole)) return 'deletes branches that only the run would tell';
  return null;
}

/** History or uncommitted work is thrown away: allowed, after a snapshot. */
export const historyRewriting: Rail = {
  id: 'history-rewriting',
  title: 'git commands that throw away history or uncommitted work',
  severity: 'Unknown',
  risk: 'Reversible',
  cure: 'A snapshot is taken first; nothing to do.',
  check(command) {
    if (command.name !== 'git') return command.name === 'rm' ? removedRepository(command) : nothing;
    const words = verbWords(command);
    const [verb = '', ...rest] = words;
    const own = { ...command, argv: command.argv.slice(command.argv.findIndex((value) => value.text === verb)) };
    const what = lost(own, verb, rest);
    if (what !== null) return found('Unknown', `git ${verb} ${what}`, 'Name what may go, one by one, or leave it.');
    return lookup(verbs, verb)?.(own, rest) === true ? found('Reversible', `git ${verb} throws away history or uncommitted work`) : nothing;
  },
};

function removedRepository(command: Command): readonly Found[] {
  return operands(command).some((text) => /(?:^|\/)\.git(?:\/|$)/.test(text))
    ? found('Reversible', 'rm deletes the repository itself')
    : nothing;
}
