import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

const unit: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 };
const hugeBytes = 20e9;

/** The machine is worn down: processes without end, endless output, long sleeps. */
export const resource: Rail = {
  id: 'resource',
  title: 'fork bombs, endless output, huge files, sleeping past the limit',
  severity: 'Critical',
  risk: 'Destructive',
  cure: 'Bound it: a count, `head -c`, `timeout`, a smaller size.',
  check(command) {
    const { name } = command;
    if (command.recursion !== null) return recursion(command, command.recursion);
    if (name === 'fork') return found('Critical', 'a program starts processes without end');
    if (/^(?:stress|stress-ng|hping3|slowloris|ab|siege|wrk)$/.test(name)) return found('Suspicious', `${name} loads the machine`);
    if (name === 'yes' && command.redirects.some((one) => one.operator.includes('>') && one.target.text !== '/dev/null'))
      return found('High', 'yes writes without end');
    if (/^(?:sleep|usleep)$/.test(name)) return slept(command);
    if (/^(?:cat|tee|dd|cp|base64|xxd|pv)$/.test(name)) return endless(command);
    if (/^(?:fallocate|truncate|head|mkfile)$/.test(name)) return huge(command);
    return nothing;
  },
};

function recursion(command: Command, body: string): readonly Found[] {
  const forks = command.stdin !== null || /(?:^|[^&>|])&(?![&>\d])/.test(body);
  return forks
    ? found('Critical', `${command.name} calls itself beside itself: a fork bomb`)
    : found('Suspicious', `${command.name} calls itself`);
}

/** Longest sleep of a command, seconds. */
const longestSleep = 3600;

function slept(command: Command): readonly Found[] {
  const seconds = operands(command).reduce((sum, text) => sum + duration(text), 0);
  return seconds > longestSleep
    ? found('High', `sleep ${operands(command).join(' ')} is longer than the limit of ${longestSleep} s`)
    : nothing;
}

function duration(text: string): number {
  if (/^inf/i.test(text)) return Infinity;
  const [, count = '0', suffix = 's'] = /^([\d.]+)([smhd]?)$/.exec(text) ?? [];
  return Number(count) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[suffix || 's'] ?? 1);
}

const source = /^(?:if=)?\/dev\/(?:zero|u?random|full)$/;
const sinkWord = /^(?:of=)?\/dev\/null$/;

function endless(command: Command): readonly Found[] {
  const all = args(command);
  const reads = [...all, ...command.redirects.filter((one) => one.operator === '<').map((one) => one.target.text)].some((text) =>
    source.test(text),
  );
  if (command.name !== 'dd') {
    const writes =
      command.redirects.some((one) => one.operator.includes('>') && !sinkWord.test(one.target.text)) || (command.name === 'cp' && reads);
    return reads && writes ? found('High', `${command.name} copies an endless device`) : nothing;
  }
  const count = all.find((text) => text.startsWith('count='))?.slice(6);
  const block = size(all.find((text) => text.startsWith('bs='))?.slice(3) ?? '512');
  if (!reads || !all.some((text) => text.startsWith('of=') && !sinkWord.test(text))) return nothing;
  return count === undefined || size(count) * block > hugeBytes ? found('High', 'dd writes without end, or far too much') : nothing;
}

function huge(command: Command): readonly Found[] {
  const sizes = args(command).map((text) => size(text.replace(/^(?:-[a-z]|--\w+=)/, '').replace(/^[+<>/%]/, '')));
  return Math.max(0, ...sizes) > hugeBytes && (command.name !== 'head' || hasFlag(command, 'c', '--bytes'))
    ? found('High', `${command.name} makes a huge file`)
    : nothing;
}

function size(text: string): number {
  const [, count = '0', suffix = ''] = /^(\d+)([kmgtp]?)(?:i?b)?$/i.exec(text) ?? [];
  return Number(count) * (unit[suffix.toLowerCase()] ?? 1);
}
