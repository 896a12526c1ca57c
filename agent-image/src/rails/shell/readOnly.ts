// agent-image, rails/shell: commands that change nothing. May import rails/verdict and rails/syntax, no rail.
import { args, hasFlag, type Command } from './command.ts';

const programs = new Set(
  'ls cat head tail less more wc grep egrep fgrep rg ag find fd stat file du df pwd echo printf true false : test [ which type basename dirname realpath readlink sort uniq cut tr diff cmp comm date id whoami uname hostname ps tree column nl od xxd hexdump strings md5sum sha1sum sha256sum sha512sum cksum jq yq seq expr sleep env printenv set cd export local declare readonly unset shift return exit break continue read wait jobs tac rev fold paste join awk sed bat tput clear'.split(
    ' ',
  ),
);
const gitVerbs = new Set(
  'status log diff show blame branch ls-files ls-tree rev-parse describe grep shortlog cat-file remote reflog stash tag config rev-list merge-base check-ignore name-rev whatchanged'.split(
    ' ',
  ),
);

/** True for a command that by its name and options changes nothing. */
export function isReadOnly(command: Command): boolean {
  if (command.redirects.some((one) => one.operator.includes('>') && one.target.text !== '/dev/null')) return false;
  if (command.name === '' || command.name === 'sed' || command.name === 'gsed')
    return command.name === '' || !hasFlag(command, 'i', '--in-place');
  if (command.name === 'find') return !args(command).some((text) => /^-(?:delete|f?print0?f|fls|exec|ok)/.test(text));
  if (command.name === 'git') {
    const [verb = '', next] = verbWords(command);
    return (
      gitVerbs.has(verb) &&
      !(
        ['branch', 'tag', 'remote', 'config', 'stash', 'reflog'].includes(verb) &&
        next !== undefined &&
        !/^(?:-[av]+|--?l(?:ist)?|show|--get|get-url|--show-current|-vv)$/.test(next)
      )
    );
  }
  return programs.has(command.name);
}

/** Words from the verb on: options of git itself may take a word. */
export function verbWords(command: Command): readonly string[] {
  const all = args(command);
  let at = 0;
  while (at < all.length && (all[at] as string).startsWith('-'))
    at += /^(?:-C|-c|--git-dir|--work-tree|--namespace|--exec-path)$/.test(all[at] as string) ? 2 : 1;
  return all.slice(at);
}
