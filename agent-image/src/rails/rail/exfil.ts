import { lookup, args, hasFlag, operands, origins, type Command } from '../shell/command.ts';
import { clusterObjects } from './clusterObjects.ts';
import { atEmulator, hostOf, hostsOf, isLoopback } from '../shell/hosts.ts';
import { asksOnly, opened } from './network.ts';
import { isSecret } from './secrets.ts';
import { readTargets } from '../shell/targets.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

const senders: Readonly<Record<string, RegExp>> = {
  npm: /^(?:publish|login|adduser|token|owner|access|dist-tag|unpublish|deprecate)$/,
  pnpm: /^publish$/,
  yarn: /^(?:publish|npm)$/,
  cargo: /^(?:publish|login|owner|yank)$/,
  gem: /^(?:push|signin|owner|yank)$/,
  twine: /^upload$/,
  poetry: /^publish$/,
  uv: /^publish$/,
  flit: /^publish$/,
  mvn: /^(?:deploy|release:.*)$/,
  gh: /^(?!--version|help).+$/,
  glab: /^(?!--version|help).+$/,
  hub: /^.+$/,
  aws: /^(?!--version|help).+$/,
  gcloud: /^(?!--version|help|version).+$/,
  gsutil: /^(?!version|help).+$/,
  az: /^(?!--version|version).+$/,
  heroku: /^.+$/,
  vercel: /^.+$/,
  netlify: /^.+$/,
  rclone: /^(?:copy|sync|move|rcat|copyto)$/,
  s3cmd: /^(?:put|sync)$/,
  mc: /^(?:cp|mirror|pipe)$/,
  skopeo: /^copy$/,
  crane: /^(?:push|copy)$/,
};
const mailers =
  /^(?:mail|mailx|sendmail|mutt|swaks|msmtp|telegram-send|slackcat|croc|wormhole|transfer|ngrok|cloudflared|bore|localtunnel|frpc|chisel)$/;

/** Data leaves: uploads, pushes, publishing, remote shells, tunnels. */
export const exfil: Rail = {
  id: 'exfil',
  title: 'sending data out: uploads, pushes, publishing, remote shells, tunnels',
  severity: 'High',
  risk: 'External',
  cure: 'Leave results in the workspace; the fleet delivers them to the places that the task names.',
  check(command) {
    const { name } = command;
    const verb = operands(command)[0] ?? '';
    // A build runs several of its goals in one line.
    const goal = /^(?:mvn|mvnw)$/.test(name)
      ? operands(command).find((text) => /^(?:deploy|[\w.-]+:deploy(?:-file)?|release:.*)$/.test(text))
      : undefined;
    if (goal !== undefined) return found('High', `${name} ${goal} sends data out`);
    if (lookup(senders, name)?.test(verb) === true && !hasFlag(command, '', '--dry-run') && !asksOnly(command) && !atEmulator(command))
      return found('High', `${name} ${verb} sends data out`);
    if (mailers.test(name)) return found('High', `${name} sends data out`);
    if (name === 'git') return pushed(command);
    if (clusterObjects(command) === 'Changes') return found('High', 'kubectl changes objects of a cluster');
    if (/^(?:ssh|scp|sftp|rsync|nc|ncat|netcat|socat|telnet|ftp|lftp|tftp|mosh|openssl)$/.test(name)) return connected(command);
    if (/^(?:curl|wget|http|https|xh)$/.test(name)) return uploaded(command);
    if (/^(?:dig|nslookup|host|ping|drill|getent)$/.test(name))
      return carries(command) ? found('High', `${name} puts data into a name that it looks up`) : nothing;
    return opened(command);
  },
};

function pushed(command: Command): readonly Found[] {
  const words = args(command);
  const verb = operands(command).find((text) => /^(?:push|send-email|send-pack|svn|request-pull)$/.test(text));
  if (verb === undefined || !words.includes(verb) || /^(?:commit|log|grep|stash|config|help|subtree)$/.test(operands(command)[0] ?? ''))
    return nothing;
  if (hasFlag(command, 'n', '--dry-run')) return nothing;
  return found('High', `git ${verb} sends commits out`);
}

function connected(command: Command): readonly Found[] {
  const { name } = command;
  if (name === 'openssl') return args(command)[0] === 's_client' ? found('High', 'openssl s_client opens a connection') : nothing;
  if (name === 'rsync' && !operands(command).some((text) => /^[\w.@-]+::?[^\\]|^rsync:/.test(text) && !text.startsWith('/')))
    return nothing;
  if (/^(?:nc|ncat|netcat|socat)$/.test(name) && hasFlag(command, name === 'socat' ? '' : 'ec', '--exec', '--sh-exec'))
    return found('Critical', `${name} gives a shell to the other side`);
  // It prints the settings that it would use.
  if (name === 'ssh' && hasFlag(command, 'G')) return nothing;
  if (args(command).length === 0 || args(command).every((text) => /^(?:-V|--version|-h|--help)$/.test(text))) return nothing;
  if (name === 'socat' && args(command).some((text) => /EXEC:|SYSTEM:/i.test(text)))
    return found('Critical', 'socat gives a shell to the other side');
  const hosts =
    name === 'socat'
      ? args(command).map((text) => hostOf(/^(?:TCP\d?|UDP\d?|OPENSSL|SSL)(?:-CONNECT)?:([^:,]+)/i.exec(text)?.[1] ?? 'localhost'))
      : hostsOf(command).filter((host) => !/^\d+$/.test(host));
  const local =
    hasFlag(command, 'lU', '--listen') || (hosts.length > 0 && hosts.every((host) => isLoopback(host) || /^0\.0\.\d+\.\d+$/.test(host)));
  return local ? nothing : found('High', `${name} connects to another machine`);
}

function uploaded(command: Command): readonly Found[] {
  const hosts = hostsOf(command);
  const sends =
    args(command).some((text) =>
      /^(?:-[a-zA-Z]*[dFT]|--data(?:-\w+)?|--form(?:-string)?|--upload-file|--json|--post-(?:data|file)|--body-(?:data|file))(?:=|@|$)/.test(
        text,
      ),
    ) ||
    args(command).some((text) => /^-[dFT].+/.test(text)) ||
    args(command).some((text, i, all) => /^(?:POST|PUT|PATCH)$/.test(text) && /^(?:-X|--request|--method)$/.test(all[i - 1] ?? '')) ||
    args(command).some((text) => /^(?:-X|--request=|--method=)(?:POST|PUT|PATCH)$/.test(text));
  const outside = hosts.some((host) => !isLoopback(host));
  if (sends && (outside || hosts.length === 0)) return found('High', `${command.name} uploads data`);
  return outside && carries(command) ? found('High', `${command.name} puts data into an address`) : nothing;
}

/** A name or address into which output of something that reads secrets went. */
function carries(command: Command): boolean {
  return command.argv.some((value) =>
    [...origins(value)].some(
      (source) => /^(?:base64|xxd|od|hexdump|env|printenv|hostname|whoami|id)$/.test(source.name) || readTargets(source).some(isSecret),
    ),
  );
}
