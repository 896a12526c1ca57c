import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { absolute } from '../shell/places.ts';
import { isReadOnly } from '../shell/readOnly.ts';
import { readTargets, writeTargets } from '../shell/targets.ts';
import { clusterObjects } from './clusterObjects.ts';
import { containerWork } from './containerTools.ts';
import { fetchers, hostsOf, isMetadata } from '../shell/hosts.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

const tools =
  /^(?:unshare|nsenter|pivot_root|switch_root|chroot|setns|kexec|insmod|rmmod|modprobe|bpftool|bpftrace|capsh|kubectl|oc|helm|docker|docker-compose|podman|nerdctl|ctr|crictl|runc|crun|containerd|lxc|lxc-attach|machinectl|criu|umount|swapoff|sysctl|iptables|ip6tables|nft|ipvsadm|reboot|shutdown|halt|poweroff|init|telinit)$/;
const paths =
  /^\/(?:proc\/(?:\d+|self|thread-self|[^/\uE000-\uE003]*[\uE000-\uE003][^/]*)\/(?:task\/[^/]+\/)?(?:environ|mem|root|cwd|maps|fd|ns|auxv|stack)(?:\/|$)|proc\/1(?:\/|$)|proc\/(?:sys|sysrq-trigger|kallsyms|kmsg)|sys\/(?:fs\/cgroup|kernel|firmware)|(?:var\/)?run\/(?:.*\.sock$|secrets|docker|containerd|crio)|dev\/(?:kmsg|fuse|kvm|net\/tun))/;
/** Verbs of helm that need no cluster. */
const alone = /^(?:template|lint|unittest|dep|show|version\b|env\b|(?:plugin|repo) (?:list|ls)\b)/;
const harmless = /^\/(?:dev\/fd|proc\/self\/fd)\/\d+$/;

/** Ways out of the sandbox, or to what holds it. */
export const escape: Rail = {
  id: 'escape',
  title: 'namespaces, mounts, container and cluster control, other processes',
  severity: 'Critical',
  risk: 'Destructive',
  cure: 'Stay in the sandbox: what the task needs from outside is given by its spec.',
  check(command, { policy }) {
    const { name } = command;
    const asks =
      args(command).length === 0
        ? ['umount', 'sysctl', 'helm', 'init'].includes(name)
        : args(command).every((text) => /^(?:--version|--help|-V|-h|version)$/.test(text));
    // Objects of a cluster that the task lists are what `exfil` judges; all else that kubectl can do leads around the walls.
    const listed = policy.network === 'Allowed' && clusterObjects(command) !== null;
    if (tools.test(name) && !asks && !listed && !(name === 'helm' && alone.test(operands(command).join(' ')))) return around(command);
    if (name === 'mount' && (operands(command).length > 0 || hasFlag(command, 'a')))
      return found('Critical', 'mount changes what the sandbox sees');
    if (
      /^(?:gdb|strace|ltrace|lldb|perf|reptyr|gcore)$/.test(name) &&
      (hasFlag(command, 'p', '--pid', '--attach-pid') || name === 'gcore' || name === 'reptyr')
    )
      return found('High', `${name} looks into another process`);
    return [...pathsOf(command), ...hosts(command)];
  },
};

/** Finds ways around the sandbox. Gate 2 judges what only looks, or works with containers of the project without rights of their host. */
function around(command: Command): readonly Found[] {
  const { name } = command;
  const work = containerWork(command);
  if (work !== null) {
    const about = found('Reversible', `${name} ${work === 'Looks' ? 'asks' : 'works with'} what runs outside of the sandbox`);
    return name === 'kubectl' || name === 'oc' ? [...about, ...pathsOf(command)] : about;
  }
  const asks = (name === 'sysctl' && !args(command).some((text) => text.includes('=') || /^-\w*[wp]/.test(text))) || listsRules(command);
  return asks ? found('Notice', `${name} shows settings of the machine`) : found('Critical', `${name} reaches around the sandbox`);
}

const listsRules = ({ name, ...rest }: Command): boolean =>
  /^(?:ip6?tables|nft)$/.test(name) &&
  args({ name, ...rest }).every((text) => /^(?:-[LSnv]+|--list(?:-rules)?|list|ruleset|tables)$/.test(text));

/** Limits of the sandbox itself, which programs size themselves by. */
const limits = /^\/sys\/fs\/cgroup\/(?:memory|cpu|pids)[./][\w.]+$|^\/proc\/sys\/(?:kernel|vm|fs|net)\/[\w./-]+$/;

function pathsOf(command: Command): readonly Found[] {
  const named = [...readTargets(command), ...writeTargets(command), ...operands(command)].flatMap((text) => {
    const written = text.replace(/^@/, '');
    return [written, absolute(written, command.cwd)];
  });
  const socket = args(command)
    .map((text) => /^(?:--unix-socket=?|unix:(?:\/\/)?|UNIX-CONNECT:)(.*)$/.exec(text)?.[1])
    .find((text) => text !== undefined);
  const packed = args(command).flatMap((text) => /^--from-(?:env-)?file=(?:[^=]*=)?(.*)$/.exec(text)?.[1] ?? []);
  const path = [...named, ...packed, ...(socket === undefined ? [] : [socket])].find(
    (text) => paths.test(text) && !harmless.test(text) && !(limits.test(text) && isReadOnly(command)),
  );
  return path === undefined || (/^(?:echo|printf)$/.test(command.name) && !writeTargets(command).includes(path))
    ? nothing
    : found('Critical', `${command.name || 'a redirect'} touches ${path}`);
}

function hosts(command: Command): readonly Found[] {
  if (!fetchers.has(command.name) && !/^(?:ping|nmap)$/.test(command.name)) return nothing;
  const host = hostsOf(command).find(isMetadata);
  return host === undefined ? nothing : found('Critical', `${command.name} asks ${host}, which hands out credentials`);
}
