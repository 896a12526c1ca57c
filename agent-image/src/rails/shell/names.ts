import { globPattern } from './marks.ts';

/** Programs that a glob in the place of a command name must not reach unseen. */
const dangerous = [
  'rm',
  'dd',
  'mkfs',
  'shred',
  'fdisk',
  'chmod',
  'chown',
  'sudo',
  'su',
  'mount',
  'unshare',
  'nsenter',
  'chroot',
  'docker',
  'kubectl',
  'curl',
  'wget',
  'nc',
  'ncat',
  'socat',
  'ssh',
  'scp',
  'rsync',
  'bash',
  'sh',
  'dash',
  'zsh',
  'python',
  'python3',
  'perl',
  'ruby',
  'node',
  'kill',
  'killall',
  'pkill',
  'crontab',
  'git',
  'find',
  'cat',
  'env',
  'printenv',
  'tee',
  'cp',
  'mv',
  'ln',
  'xargs',
  'busybox',
  'eval',
];

/** The dangerous programs that a name with glob marks may stand for, at most four. */
export function matchingNames(name: string): readonly string[] {
  const pattern = globPattern(name);
  return dangerous.filter((one) => pattern.test(one)).slice(0, 4);
}
