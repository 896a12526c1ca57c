import { args, hasFlag, isFixed, operands, type Command } from '../shell/command.ts';
import { isRisky, settingsIn } from '../shell/gitSettings.ts';
import { plain } from '../shell/marks.ts';
import { absolute } from '../shell/places.ts';
import { writeTargets } from '../shell/targets.ts';
import { found, nothing, type Found, type Rail, type Surroundings } from './rail.ts';

const inHome =
  /^\/(?:\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc|inputrc|xinitrc|xprofile|pam_environment|npmrc|pypirc|netrc|gitconfig|vimrc|gemrc|curlrc|wgetrc|pythonrc|pdbrc)|\.ssh(?:\/|$)|\.config(?:\/|$)|\.pip(?:\/|$)|\.local\/(?:bin|share\/(?:systemd|applications|autostart)|lib)|\.gnupg(?:\/|$)|\.docker(?:\/|$)|\.kube(?:\/|$)|\.cargo\/(?:config|env)|\.m2\/settings|Library\/LaunchAgents)/;
const anywhere =
  /^\/etc\/(?:cron|profile|rc|init|systemd|ld\.so|bash|zsh|environment|sudoers|pam|ssh|security|passwd|shadow|group|hosts|resolv)|^\/var\/spool\/(?:cron|at)|\/authorized_keys2?$|\/sitecustomize\.py$|\/usercustomize\.py$|^\/(?:usr\/)?lib\/systemd/;
const repository = String.raw`\/\.git\/(?:(?:modules|worktrees)\/(?:[^/]+\/)*?)?`;
const hooks = new RegExp(`${repository}hooks(?:$|/(?![\\w-]+\\.sample$))`);
const config = new RegExp(`${repository}config(?:\\.worktree)?$`);
/** A file in place of the repository says where it lies: git puts those of worktrees and submodules below another one. */
const elsewhere = /\/\.git$/;
const below = /^gitdir: (?=[^\n]*\n?$)(?:[^\n]*\/)?\.git\/(?:modules|worktrees)\//;

/** Hooks of the project by Husky, whose installation sets them: files that its commits hold. */
const husky = /^(?:[\w-]+\/){0,4}\.husky(?:\/_)?$/;

/** Reports whether git runs a file, whatever stood in it before. */
export const isHook = (path: string): boolean => hooks.test(path);

/** Reports whether git runs an absolute path, or reads from it what it runs. */
export const steersGit = (path: string): boolean => hooks.test(path) || config.test(path) || elsewhere.test(path);

/** Something stays behind that runs later: schedules, shell start files, hooks, keys, tool settings. */
export const persistence: Rail = {
  id: 'persistence',
  title: 'schedules, start files, hooks, keys and tool settings that outlive the step',
  severity: 'High',
  risk: 'Destructive',
  cure: 'Set what this command needs in front of it (`NAME=value command`), or change files of the project.',
  check(command, around) {
    const { name } = command;
    if (name === 'crontab' && !hasFlag(command, 'l')) return found('High', 'crontab schedules commands');
    if (/^(?:at|batch|anacron|atd|crond|cron|launchctl|update-rc\.d|chkconfig|rc-update|initctl)$/.test(name) && !hasFlag(command, 'l'))
      return found('High', `${name} schedules commands`);
    if (/^(?:systemctl|service|loginctl)$/.test(name) && !/^(?:status|list-.*|show|is-.*|cat)?$/.test(operands(command)[0] ?? ''))
      return found('High', `${name} changes services`);
    if (/^(?:ssh-copy-id|ssh-add)$/.test(name)) return found('High', `${name} places keys`);
    return [...settings(command), ...files(command, around)];
  },
};

/** An alias of a git command that only shows, and neither runs a program nor writes a file. */
function showsOnly(value: string): boolean {
  const text = value.replaceAll(/['"\\]/g, '');
  return (
    /^(?:log|status|diff|show|shortlog|blame|describe|rev-parse|ls-files|ls-tree|whatchanged|range-diff)(?:\s|$)/.test(text) &&
    !/--(?:ou|ext|textc|exe)|\uE000/.test(text)
  );
}

function settings(command: Command): readonly Found[] {
  const words = operands(command);
  const all = args(command);
  if (
    command.name === 'git' &&
    words.includes('config') &&
    !all.includes('-l') &&
    !hasFlag(command, '', '--get', '--list', '--get-all', '--get-regexp')
  ) {
    const { key, value, unset } = setting(command);
    const isAlias = /^alias\./i.test(key);
    // That of an alias may begin with an option.
    const given = isAlias && !unset ? all[all.indexOf(key) + 1] : value;
    const free = isAlias && (unset || showsOnly(given ?? ''));
    if (key !== '' && (given !== undefined || unset) && !free && isRisky(key, given ?? ''))
      return found('High', `git config ${key} changes what git runs or trusts`);
    if (
      hasFlag(command, '', '--global', '--system') &&
      !/^(?:user\.|init\.defaultbranch|safe\.directory|color\.|advice\.|pull\.|core\.(?:autocrlf|quotepath))/i.test(key)
    )
      return found('Suspicious', `git config ${key} is set for every repository`);
  }
  if (/^(?:npm|pnpm|yarn|pip3?|conda|poetry|cargo|gem|go|bundle)$/.test(command.name)) {
    const [verb, action] = words;
    const script = words.find((text) => /^scripts\.(?:(?:pre|post)?install|prepare|prepublish)=/.test(text));
    if (verb === 'pkg' && action === 'set' && script !== undefined)
      return found('High', `${command.name} pkg sets a script that runs where the package is installed`);
    if ((/^config$/.test(verb ?? '') && /^(?:set|edit|delete|unset)$/.test(action ?? '')) || (verb === 'set' && command.name === 'npm'))
      return found('High', `${command.name} config changes where packages come from`);
    if (command.name === 'go' && verb === 'env' && all.includes('-w')) return found('High', 'go env -w changes settings for good');
  }
  return nothing;
}

/** Key and value of `git config`, after its verb and options. */
function setting(command: Command) {
  const words = args(command);
  const own = words.slice(words.indexOf('config') + 1);
  const left = own.filter(
    (word, at) => !word.startsWith('-') && !/^(?:-f|--file|--blob|--type|--default|--comment)$/.test(own[at - 1] ?? ''),
  );
  const [key = '', value] = /^(?:set|unset)$/.test(left[0] ?? '') ? left.slice(1) : left;
  return { key, value, unset: left[0] === 'unset' || own.some((word) => /^--unset(?:-all)?$/.test(word)) };
}

/** Findings in the whole text of a file that git reads; undefined where the text is not known, or git does not read it. */
function toGit(path: string, { name, argv, via, stdin }: Command): readonly Found[] | undefined {
  if (name !== 'tee' || argv.length !== 2 || via.length > 0 || stdin === null || !isFixed(stdin)) return undefined;
  const text = plain(stdin.text);
  if (elsewhere.test(path))
    return text.length < 4096 && below.test(text)
      ? nothing
      : found('High', `${name} writes ${path}, by which git takes another folder for the repository`);
  if (!config.test(path)) return undefined;
  const risky = settingsIn(text).filter(({ key, value }) => isRisky(key, value) && !(key === 'core.hookspath' && husky.test(value)));
  return risky.flatMap(({ key, value }) =>
    found('High', `${name} sets ${key} = ${value.slice(0, 200)} in ${path}, which changes what git runs or trusts`),
  );
}

function files(command: Command, { places }: Surroundings): readonly Found[] {
  if (/^(?:rm|mkdir|rmdir)$/.test(command.name)) return nothing;
  for (const target of writeTargets(command)) {
    const path = absolute(plain(target), command.cwd);
    const home = [places.home, '/root'].find((folder) => path.startsWith(`${folder}/`)) ?? /^\/home\/[^/]+/.exec(path)?.[0];
    const said = toGit(path, command);
    if (said !== undefined) {
      if (said.length > 0) return said;
    } else if (
      anywhere.test(path) ||
      hooks.test(path) ||
      config.test(path) ||
      (home !== undefined && inHome.test(path.slice(home.length)))
    ) {
      return found('High', `${command.name || 'a redirect'} writes ${path}, which is run or trusted later`);
    }
  }
  return nothing;
}
