import { lookup, args, hasFlag, operands, type Command } from '../shell/command.ts';
import { hasHole, hole } from '../shell/marks.ts';
import { atEmulator, deviceHost, fetchers, hostOf, hostsOf, isLoopback } from '../shell/hosts.ts';
import { verbWords } from '../shell/readOnly.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

const remote =
  /^(?:ping|traceroute|nmap|masscan|whois|apt|apt-get|aptitude|apk|yum|dnf|microdnf|pacman|zypper|brew|snap|flatpak|mosh|rclone|svn|hg|cvs|youtube-dl|yt-dlp|aws|gcloud|gsutil|az|gh|glab|rdate|ntpdate)$/;
const installs: Readonly<Record<string, RegExp>> = {
  npm: /^(?:ci|install|i|add|update|upgrade|audit|view|outdated|create|init)$/,
  pnpm: /^(?:install|i|add|update|dlx|fetch)$/,
  yarn: /^(?:install|add|upgrade|dlx|create)?$/,
  bun: /^(?:install|add|i)$/,
  pip: /^(?:install|download|index|search)$/,
  pip3: /^(?:install|download|index|search)$/,
  uv: /^(?:pip|sync|add|lock)$/,
  poetry: /^(?:install|add|update|lock)$/,
  pipx: /^(?:install|run)$/,
  conda: /^(?:install|create|update)$/,
  cargo: /^(?:install|fetch|update|add|search)$/,
  go: /^(?:get|install|mod)$/,
  gem: /^(?:install|update|fetch)$/,
  bundle: /^(?:install|update)?$/,
  composer: /^(?:install|require|update)$/,
  npx: /^/,
};

/** The network is used though the task has none: it is refused before the NetworkPolicy blocks it. */
export const network: Rail = {
  id: 'network',
  title: 'connections to other machines where the task has no network',
  severity: 'High',
  risk: 'External',
  cure: 'The sandbox reaches itself only (127.0.0.1): work with what is in the workspace and the image, or ask for hosts in `policy.network`.',
  check(command, { policy }) {
    if (policy.network === 'Allowed') return installed(command) ? found('Reversible', `${command.name} installs packages`) : nothing;
    const { name } = command;
    const all = args(command);
    if (all.length > 0 && all.every((text) => /^(?:-V|--version|-h|--help|version|help)$/.test(text))) return nothing;
    if (fetchers.has(name)) return fetched(command);
    if (asksOnly(command)) return found('Reversible', `${name} may ask another machine; the network is closed`);
    if (atEmulator(command)) return nothing;
    if (remote.test(name))
      return all.length === 0 || hostsOf(command).some((host) => name === 'ping' && isLoopback(host))
        ? nothing
        : found('High', `${name} needs the network`);
    if (name === 'git') return cloned(command);
    if (installed(command)) return installing(command);
    return opened(command);
  },
};

/** Finds a redirect by which bash opens a connection to another machine. */
export function opened({ redirects }: Command): readonly Found[] {
  const device = redirects.flatMap(({ target }) => deviceHost(target.text) ?? []).find((host) => !isLoopback(host));
  return device === undefined ? nothing : found('High', `a redirect opens a connection to ${device}`);
}

/** Questions to services that answer with nothing secret, and change nothing. */
const questions: Readonly<Record<string, RegExp>> = {
  gh: /^(?:(?:pr|issue|run|repo|release|workflow|label) (?:view|list|checks|status|diff|watch)|status|auth status)\b/,
  glab: /^(?:(?:mr|issue|ci|repo|release) (?:view|list|status|diff|trace))\b/,
  aws: /^(?:s3 ls|sts get-caller-identity|[\w-]+ (?:describe|list)-(?!secrets|access-keys)[\w-]+)/,
  gcloud: /^(?!secrets|iam).*\b(?:list|describe)\b/,
  az: /^(?!keyvault|ad ).*\b(?:list|show)\b/,
  apt: /^(?:list|show|search|policy)\b/,
  'apt-cache': /^./,
  brew: /^(?:list|info|search|outdated)\b/,
};
/** Reports whether a command only asks a service for what is no secret. */
export const asksOnly = (command: Command): boolean => lookup(questions, command.name)?.test(operands(command).join(' ')) === true;

function fetched(command: Command): readonly Found[] {
  const hosts = hostsOf(command).filter((host) => !/^0\.0\.\d+\.\d+$/.test(host));
  if (
    args(command).length === 0 ||
    command.name === 'socat' ||
    hasFlag(command, '', '--unix-socket') ||
    (command.name === 'ssh' && hasFlag(command, 'G')) ||
    (/^(?:nc|ncat|netcat)$/.test(command.name) && hasFlag(command, 'lU'))
  )
    return nothing;
  const outside = hosts.length === 0 ? hole : hosts.find((host) => !isLoopback(host));
  if (outside === undefined) return nothing;
  return hasHole(outside)
    ? found('Unknown', `${command.name} connects to what only the run would tell`)
    : found('High', `${command.name} connects to ${outside}`);
}

function cloned(command: Command): readonly Found[] {
  const [verb = '', ...rest] = verbWords(command);
  const words = rest.filter((text) => !text.startsWith('-'));
  const [, archived] = /^--remote=(.+)$/.exec(verb === 'archive' ? (rest.find((text) => text.startsWith('--remote=')) ?? '') : '') ?? [];
  if (archived !== undefined && !isLoopback(hostOf(archived)) && !/^[./]/.test(archived))
    return found('High', 'git archive needs the network');
  const submodules = verb === 'submodule' && /^(?:update|add)$/.test(words[0] ?? '');
  if (!/^(?:clone|fetch|pull|ls-remote|remote-https)$/.test(verb) && !submodules)
    return verb === 'remote' && words[0] === 'update' ? found('High', 'git remote update needs the network') : nothing;
  const where = words[verb === 'submodule' ? 1 : 0] ?? 'origin';
  // A remote that the repository knows, by its name: new commits come, nothing leaves.
  if (/^(?:fetch|pull|ls-remote)$/.test(verb) && /^[A-Za-z][\w-]*$/.test(where)) return found('Reversible', `git ${verb} may ask ${where}`);
  if (/^(?:\/|\.{1,2}(?:\/|$)|file:|~)/.test(where) || (verb === 'clone' && /^[\w.-]+$/.test(where))) return nothing;
  return isLoopback(hostOf(where)) ? nothing : found('High', `git ${verb} needs the network`);
}

function installed(command: Command): boolean {
  return lookup(installs, command.name)?.test(operands(command)[0] ?? '') === true;
}

function installing(command: Command): readonly Found[] {
  const url = args(command).find(
    (text) => /^(?:git\+)?(?:https?|ssh|git):\/\//.test(text) && !isLoopback(hostOf(text.replace(/^git\+/, ''))),
  );
  if (url !== undefined) return found('High', `${command.name} needs the network for ${url}`);
  // `--ext` of a program that npx runs is no beginning of pip's option.
  const ofNode = /^(?:npx|npm|pnpm|pnpx|yarn|bunx?)$/.test(command.name);
  if (!ofNode && hasFlag(command, '', '--trusted-host', '--extra-index-url'))
    return found('High', `${command.name} trusts a foreign index`);
  return found(
    'Reversible',
    `${command.name} may need packages from the network, which is closed`,
    'Only what a local cache or the image holds can be installed; try its offline option.',
  );
}
