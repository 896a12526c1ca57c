import { args, hasFlag, operands } from '../shell/command.ts';
import { found, nothing, type Rail } from './rail.ts';

/** Processes are ended that this step did not start. */
export const processKill: Rail = {
  id: 'process-kill',
  title: 'ending processes by broad match: kill -1, pkill of everything, killall of the runtime',
  severity: 'Critical',
  risk: 'Destructive',
  cure: 'End what you started by its id: `kill "$!"`.',
  check(command) {
    const { name } = command;
    if (name === 'kill' && !/^-[lL]$/.test(args(command)[0] ?? '')) {
      const targets = killTargets(args(command));
      if (targets.some((text) => /^-0*1$|^-\uE000/.test(text))) return found('Critical', 'kill ends every process there is');
      if (targets.some((text) => /^0*[01]$/.test(text))) return found('Critical', 'kill ends the sandbox itself or the whole group');
    }
    if (name === 'killall5') return found('Critical', 'killall5 ends every process there is');
    if (/^(?:pkill|killall|skill|slay)$/.test(name)) {
      const all = args(command);
      // The owner of the processes means nothing where a whole command line follows.
      const words = operands(command).filter(
        (text, _, some) => !narrow(some) || !/^-[uU]$|^--user$/.test(all[all.indexOf(text) - 1] ?? ''),
      );
      const broad =
        words.find((text) =>
          /^(?:\.\*?|\.\+|\^|\$|\uE001|node|bash|sh|init|keeper|runner|agent|containerd|systemd|tini|[^a-zA-Z0-9]{0,2})$/.test(text),
        ) ?? (hasFlag(command, 'u', '--user', '--euid') && !narrow(words) ? 'a user' : undefined);
      return broad === undefined
        ? found('Notice', `${name} ends processes by name`)
        : found('High', `${name} ends ${broad}, which is more than this step started`);
    }
    return name === 'fuser' && hasFlag(command, 'k', '--kill') && operands(command).some((text) => text === '/' || text === '.')
      ? found('High', 'fuser ends whoever uses the folder')
      : nothing;
  },
};

/** A command line of several words: of one program and no others. */
const narrow = (words: readonly string[]): boolean => words.some((text) => /^[\w./-]{3,}\s+\S+/.test(text));

/** Lists the words that are left when the signal is taken off. */
function killTargets(words: readonly string[]): readonly string[] {
  const out: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string;
    if (word === '-s' || word === '-n' || word === '--signal') at += 1;
    else if (word === '--') return [...out, ...words.slice(at + 1)];
    else if (at === 0 && /^-(?:\d+|[A-Z]\w*|[a-z]\w*)$/.test(word) && words.length > 1) continue;
    else if (!word.startsWith('--')) out.push(word);
  }
  return out;
}
