// cli, wiring: shell completion of fleet's commands. May import every folder of cli, and other packages.
import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

interface Place {
  /** Commands that lead here, without the program. */
  readonly path: readonly string[];
  readonly words: readonly string[];
}

/** Every command with the words that may follow it: its commands and its options. */
function placesOf(command: Command, path: readonly string[] = []): readonly Place[] {
  const options = command.options.map(({ long, short }) => long ?? short ?? '');
  const commands = command.commands.map((sub) => sub.name());
  return [{ path, words: [...commands, ...options] }, ...command.commands.flatMap((sub) => placesOf(sub, [...path, sub.name()]))];
}

const quoted = (words: readonly string[]): string => `'${words.join(' ')}'`;

/** A script that completes commands and options in a shell. Pure. */
export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program);
  if (shell === 'fish')
    return places
      .flatMap(({ path, words }) => {
        const [first, second] = path;
        const seen = [first, second].flatMap((name) => (name === undefined ? [] : [`__fish_seen_subcommand_from ${name}`]));
        const when = seen.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
        return [`complete -c fleet -f -n ${quoted([when])} -a ${quoted(words)}`];
      })
      .join('\n');
  const cases = places.map(({ path, words }) => `    ${quoted(path)}) words=${quoted(words)} ;;`).join('\n');
  const body = `_fleet() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [ -z "$(_fleet_words "\${path:+$path }$word")" ] || path="\${path:+$path }$word"
  done
  COMPREPLY=($(compgen -W "$(_fleet_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
_fleet_words() {
  local words=""
  case $1 in
${cases}
  esac
  printf %s "$words"
}
complete -o default -F _fleet fleet kubectl-fleet`;
  return shell === 'bash' ? body : `autoload -U +X bashcompinit && bashcompinit\n${body}`;
}
