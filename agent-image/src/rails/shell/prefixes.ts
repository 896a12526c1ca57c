// agent-image, rails/shell: programs that run the rest of their arguments. May import rails/verdict and rails/syntax, no rail.
import { byName, concat, fixed, spaced, type Command, type Value } from './command.ts';
import { plain } from './marks.ts';
import type { Inner, Unwrapper } from './run.ts';

/** Form of the arguments in front of the wrapped command, by which they are counted. */
interface Shape {
  /** Options that take the next word. */
  readonly takes?: readonly string[];
  /** Words that are no options and come before the command. */
  readonly skip?: number;
  /** `name=value` words come before the command. */
  readonly assigns?: boolean;
}

const shapes = byName<Shape>(
  ['sudo', { takes: ['-u', '-g', '-h', '-p', '-C', '-D', '-R', '-T', '-U', '-r', '-t', '--user', '--group', '--chdir'], assigns: true }],
  ['doas', { takes: ['-u', '-C'] }],
  ['pkexec', { takes: ['--user'] }],
  ['nice', { takes: ['-n', '--adjustment'] }],
  ['ionice', { takes: ['-c', '-n', '-p', '--class', '--classdata'] }],
  ['timeout gtimeout', { takes: ['-s', '-k', '--signal', '--kill-after'], skip: 1 }],
  ['stdbuf', { takes: ['-i', '-o', '-e'] }],
  ['time', { takes: ['-f', '-o', '--format', '--output'] }],
  ['exec', { takes: ['-a'] }],
  ['strace', { takes: ['-e', '-o', '-p', '-s', '-u', '-E'] }],
  ['ltrace', { takes: ['-e', '-o', '-p', '-s', '-u'] }],
  ['systemd-run', { takes: ['-u', '-p', '--unit'] }],
  ['proot', { takes: ['-r', '-b', '-w', '-R'] }],
  ['chroot', { takes: ['--userspec', '--groups'], skip: 1 }],
  ['unshare', { takes: ['-R', '-w', '-S', '-G'] }],
  ['nsenter', { takes: ['-t', '-S', '-G', '--target'] }],
  ['ld-linux-x86-64.so.2', { takes: ['--library-path', '--preload', '--argv0'] }],
  ['chrt taskset setarch perf uv poetry pipenv bundle', { skip: 1 }],
  ['nohup setsid builtin coproc unbuffer caffeinate linux64 prlimit valgrind catchsegv fakeroot busybox toybox dumb_init tini', {}],
  ['rlwrap xvfb-run dbus-run-session ld-musl-x86_64.so.1 ld-linux-aarch64.so.1 ld-linux.so.2', {}],
);

/** Only their `run` and `exec` wrap a command. */
const withVerb = /^(?:uv|poetry|pipenv|bundle)$/;

/** The words of the wrapped command. */
export function rest(command: Command, shape: Shape): readonly Value[] {
  const words = command.argv;
  let at = 1;
  let skip = shape.skip ?? 0;
  for (; at < words.length; at += 1) {
    const text = (words[at] as Value).text;
    if (text === '--') {
      at += 1;
      break;
    }
    if (text.startsWith('-') && text.length > 1) {
      if (shape.takes?.includes(text) === true) at += 1;
    } else if (shape.assigns === true && /^[A-Za-z_]\w*=/.test(text)) continue;
    else if (skip > 0) skip -= 1;
    else break;
  }
  return words.slice(at + (words[at - 1]?.text === '--' ? skip : 0));
}

function prefix(shape: Shape): Unwrapper {
  return (command) => {
    if (withVerb.test(command.name) && !['run', 'exec'].includes(command.argv[1]?.text ?? '')) return [];
    return [{ argv: rest(command, shape) }];
  };
}

/** `env` may also split one string into words, and sets variables. */
const env: Unwrapper = (command) => {
  const splitAt = command.argv.findIndex((value) => /^(?:-S|--split-string)/.test(value.text) || /^-[a-z]*S$/.test(value.text));
  if (splitAt > 0) {
    const value = command.argv[splitAt] as Value;
    const text = plain(value.text).replace(/^(?:--split-string=?|-[a-z]*S)/, '');
    const words = [...(text === '' ? [] : [fixed(text)]), ...command.argv.slice(splitAt + 1)];
    const code = concat(words.flatMap((one) => [one, fixed(' ')]));
    return [{ code: { language: 'shell', value: code, source: 'argument' } }];
  }
  const assigned = new Map(command.env);
  for (const { text, from } of command.argv.slice(1)) {
    const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(text) ?? [];
    if (name !== undefined) assigned.set(name, { text: value ?? '', from });
  }
  return [{ argv: rest(command, { takes: ['-u', '-C', '--unset', '--chdir'], assigns: true }), env: assigned }];
};

const commandBuiltin: Unwrapper = (command) => {
  const first = command.argv[1]?.text ?? '';
  return /^-[pvV]*[vV]/.test(first) ? [] : [{ argv: rest(command, {}) }];
};

/** `watch`, `su -c` and the like hand a string to a shell. */
export function stringOption(option: RegExp): Unwrapper {
  return (command) => {
    const at = command.argv.findIndex((value, i) => i > 0 && option.test(value.text));
    if (at < 0) return [];
    const text = (command.argv[at] as Value).text;
    const attached = text.includes('=') ? text.slice(text.indexOf('=') + 1) : '';
    const value = attached === '' ? command.argv[at + 1] : { text: attached, from: (command.argv[at] as Value).from };
    return value === undefined ? [] : [shell(value)];
  };
}

export function shell(value: Value): Inner {
  return { code: { language: 'shell', value, source: 'argument' } };
}

export const prefixes: Readonly<Record<string, Unwrapper>> = {
  ...Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, prefix(shape)])),
  env,
  command: commandBuiltin,
  watch: (command) => [shell(spaced(rest(command, { takes: ['-n', '--interval'] })))],
  su: stringOption(/^(?:-c|--command(?:=|$)|--session-command)/),
  runuser: stringOption(/^(?:-c|--command(?:=|$))/),
  script: stringOption(/^(?:-[a-z]*c|--command(?:=|$))/),
  npx: (command, run, site) => [
    ...stringOption(/^(?:-c|--call(?:=|$))/)(command, run, site),
    { argv: rest(command, { takes: ['-p', '--package', '-c'] }) },
  ],
  flock: (command, run, site) => {
    const inner = stringOption(/^(?:-c|--command(?:=|$))/)(command, run, site);
    return inner.length > 0 ? inner : [{ argv: rest(command, { takes: ['-w', '-E', '--timeout'], skip: 1 }) }];
  },
};
