// agent-image, rails/shell: commands that find, git, ssh and others run. May import rails/verdict and rails/syntax, no rail.
import { args, byName, dynamic, fixed, isFixed, lookup, spaced, substituted, type Command, type Value } from './command.ts';
import { runsValue } from './gitSettings.ts';
import { absolute } from './places.ts';
import { plain, printable } from './marks.ts';
import { rest, shell, stringOption } from './prefixes.ts';
import type { Inner, Unwrapper } from './run.ts';

/** `find`: what stands between `-exec` and its end, with the start folders in place of `{}`. */
const find: Unwrapper = (command) => {
  const words = command.argv;
  const out: Inner[] = [];
  const starts = findStarts(command);
  words.forEach((word, i) => {
    if (!['-exec', '-execdir', '-ok', '-okdir'].includes(word.text)) return;
    const end = words.findIndex((one, j) => j > i && (one.text === ';' || (one.text === '+' && words[j - 1]?.text === '{}')));
    const inner = words.slice(i + 1, end < 0 ? undefined : end);
    for (const start of starts)
      out.push({
        argv: inner.map((one, at) => ({
          ...one,
          text: substituted(one.text, '{}', (at === 0 ? named(start, words) : null) ?? found(start, command)),
        })),
      });
  });
  return out;
};

/** The folders that find starts from. */
export function findStarts(command: Command): readonly string[] {
  const words = args(command).filter((text) => !/^-[HLPOD]/.test(text));
  const end = words.findIndex((text) => /^[-(!]/.test(text));
  const starts = end < 0 ? words : words.slice(0, end);
  return starts.length === 0 ? ['.'] : starts;
}

/** A filter by name means that not the folder itself is found. */
function found(start: string, command: Command): string {
  const filters =
    / -type f/.test(args(command).join(' ')) ||
    args(command).some((text) => /^-(?:i?name|i?path|i?regex|empty|size|mtime|mmin|newer|mindepth)/.test(text));
  return filters ? `${start}/${dynamic().text}` : start;
}

/** The one program that is found by its whole name: what is done to a file has to know its folder too. */
function named(start: string, words: readonly Value[]): string | null {
  const texts = words.map(({ text }) => text);
  const name = texts[texts.indexOf('-name') + 1] ?? '';
  const isOne = texts.filter((text) => /^-(?:i?name|o|or)$/.test(text)).join() === '-name';
  return isOne && /^[\w.+-]+$/.test(name) ? `${start}/${name}` : null;
}

const maxItems = 16;

const xargs: Unwrapper = (command) => {
  const words = rest(command, {
    takes: ['-I', '-n', '-P', '-L', '-d', '-E', '-s', '-a', '--max-args', '--max-procs', '--delimiter', '--replace'],
  });
  const replace = args(command).findIndex((text) => /^-I|^-i$|^--replace/.test(text));
  const flag = replace < 0 ? null : (args(command)[replace] as string);
  const token =
    flag === null ? null : flag === '-I' ? (args(command)[replace + 1] ?? '{}') : flag.replace(/^-I|^-i|^--replace=?/, '') || '{}';
  const base = words.length > 0 ? words : [fixed('echo')];
  const items = itemsOf(command);
  if (token === null) return [{ argv: [...base, ...items], stdin: dynamic() }];
  return items.map((item) => ({
    argv: base.map((word) => ({ text: substituted(word.text, token, item.text), from: [...word.from, ...item.from] })),
    stdin: dynamic(),
  }));
};

function itemsOf(command: Command): readonly Value[] {
  const input = command.stdin;
  if (input === null || !isFixed(input)) return [dynamic(input?.from ?? [])];
  const words = input.text.split(/[\s\0]+/).filter((text) => text !== '');
  return words.slice(0, maxItems).map((text) => ({ text: text.replace(/^(['"])(.*)\1$/, '$2'), from: input.from }));
}

const parallel: Unwrapper = (command) => {
  const words = rest(command, { takes: ['-j', '-n', '--jobs', '-N'] });
  const end = words.findIndex((word) => word.text.startsWith(':::'));
  const base = end < 0 ? words : words.slice(0, end);
  const items = end < 0 ? itemsOf(command) : words.slice(end + 1).slice(0, maxItems);
  if (base.length === 0) return items.map(shell);
  const text = spaced(base);
  return items.map((item) =>
    shell({
      text: text.text.includes('{}') ? substituted(text.text, '{}', item.text) : `${text.text} ${item.text}`,
      from: [...text.from, ...item.from],
    }),
  );
};

/** Returns the commands of the other side, which are judged as if they ran here. */
const ssh: Unwrapper = (command) => {
  const words = rest(command, { takes: ['-p', '-i', '-l', '-o', '-F', '-L', '-R', '-D', '-J', '-c', '-E', '-W'], skip: 1 });
  const proxy = args(command)
    .map((text) => /ProxyCommand=(.+)/.exec(text)?.[1])
    .find((text) => text !== undefined);
  return [...(words.length > 0 ? [shell(spaced(words))] : []), ...(proxy === undefined ? [] : [shell(fixed(proxy))])];
};

const evaluate: Unwrapper = (command) => [
  { ...shell(spaced(command.argv.slice(1).filter((word, i) => i > 0 || word.text !== '--'))), sameShell: true },
];

const source: Unwrapper = (command, run) => {
  const path = command.argv[1];
  if (path === undefined) return [];
  const isInput = /^\/(?:dev\/stdin|dev\/fd\/0)$/.test(path.text);
  const content = isInput ? (command.stdin ?? dynamic()) : run.files.get(absolute(path.text, command.cwd));
  if (content === undefined) return [];
  const file = isInput ? {} : { file: printable(path.text) };
  return [
    { code: { language: 'shell', value: content, source: 'elsewhere', ...file }, positional: command.argv.slice(2), sameShell: true },
  ];
};

/** `git -c key=!code`, aliases, variables that hold settings, and the commands that take code. */
const git: Unwrapper = (command, _run, site) => {
  const out: Inner[] = [];
  const words = command.argv.slice(1);
  const variable = (name: string): Value | undefined => command.env.get(name) ?? site.scope.variables.get(name)?.[0]?.[0];
  const set = (key: string, value: Value): void => {
    if (value.text.startsWith('!')) out.push(shell({ text: value.text.slice(1), from: value.from }));
    else if (runsValue(key)) out.push(shell(value));
  };
  words.forEach((word, i) => {
    const [, named, name = ''] = /^(?:--config-env=)([^=]+)=(\w+)$/.exec(word.text) ?? [];
    if (named !== undefined) set(named, variable(name) ?? dynamic());
    const configured = words[i - 1]?.text === '-c' || (words.some((one) => one.text === 'config') && i > 0);
    const text = /^[\w.-]+=/.test(word.text) ? word.text.slice(word.text.indexOf('=') + 1) : word.text;
    const key = /^[\w.-]+=/.test(word.text) ? (word.text.split('=')[0] as string) : (words[i - 1]?.text ?? '');
    if (configured && (key !== text || text.startsWith('!'))) set(key, { text, from: word.from });
  });
  for (let at = 0; at < maxItems; at += 1) {
    const key = variable(`GIT_CONFIG_KEY_${at}`);
    if (key !== undefined) set(key.text, variable(`GIT_CONFIG_VALUE_${at}`) ?? dynamic());
  }
  const given = variable('GIT_CONFIG_PARAMETERS');
  for (const [, key = '', text = ''] of given?.text.matchAll(/'([\w.-]{1,200})'?='?([^']*)'/g) ?? [])
    set(key, { text, from: given?.from ?? [] });
  return [...out, ...taken(words)];
};

/** Code that commands of git take as a word. */
function taken(words: readonly Value[]): readonly Inner[] {
  const out: Inner[] = [];
  const verb = words.find((one) => !one.text.startsWith('-'))?.text ?? '';
  words.forEach((word, i) => {
    const option = lookup(codeOptions, verb)?.exec(word.text);
    if (option != null) out.push(shell(option[1] === undefined ? (words[i + 1] ?? dynamic()) : { text: option[1], from: word.from }));
    const [, pager] = /^(?:-O|--open-files-in-pager=)([^]+)$/.exec(verb === 'grep' ? word.text : '') ?? [];
    if (pager !== undefined) out.push(shell({ text: pager, from: word.from }));
    if (verb === 'bisect' && word.text === 'run') out.push({ argv: words.slice(i + 1) });
    if ((verb === 'submodule' || verb === 'foreach') && word.text === 'foreach')
      out.push(shell(spaced(words.slice(i + 1).filter((one) => one.text !== '--recursive'))));
  });
  return out;
}

/** Options of git whose value the shell runs, by command; the value stands behind `=`, or is the next word. */
const codeOptions = byName(
  ['rebase', /^(?:-x|--exec)(?:=([^]+))?$/],
  ['filter-branch', /^--\w+-filter(?:=([^]+))?$/],
  ['difftool', /^(?:-x|--extcmd)(?:=([^]+))?$/],
  ['fetch pull ls-remote fetch-pack', /^--upload-pack(?:=([^]+))?$/],
  ['clone', /^(?:-u|--upload-pack)(?:=([^]+))?$/],
  ['push send-pack', /^--(?:receive-pack|exec)(?:=([^]+))?$/],
  ['archive', /^--exec(?:=([^]+))?$/],
);

const trap: Unwrapper = (command) => {
  const action = command.argv.slice(1).find((word) => !/^--?$|^-[lp]/.test(word.text));
  return action === undefined || command.argv.length < 3 || action.text === '' ? [] : [shell(action)];
};

/** Shell code that arguments hold, as the group of a pattern. */
const inArguments =
  (pattern: RegExp): Unwrapper =>
  (command) =>
    command.argv.slice(1).flatMap(({ text, from }) => {
      const code = pattern.exec(text)?.[1];
      return code === undefined ? [] : [shell({ text: code, from })];
    });

/** Shell code in lines of arguments and of the input, as the group of a pattern with the flags `gm`. */
const inLines =
  (pattern: RegExp): Unwrapper =>
  ({ argv, stdin }) =>
    [...argv.slice(1), ...(stdin === null ? [] : [stdin])].flatMap(({ text, from }) =>
      [...text.matchAll(pattern)].slice(0, maxItems).map((one) => shell({ text: one[1] as string, from })),
    );

/** `cmake -E env A=b COMMAND` */
const cmake: Unwrapper = ({ argv }) => {
  const [flag, verb] = argv.slice(1).map(({ text }) => text);
  if (flag !== '-E' || !/^(?:env|time|chdir)$/.test(verb ?? '')) return [];
  const words = argv.slice(verb === 'chdir' ? 4 : 3);
  const at = words.findIndex(({ text }) => !/^(?:-|\w+=)/.test(text));
  return at < 0 ? [] : [{ argv: words.slice(at) }];
};

/** `-wrapper a,b` of GCC. */
const compiler: Unwrapper = ({ argv }) => {
  const wrapper = argv[argv.findIndex(({ text }) => text === '-wrapper') + 1];
  return wrapper === undefined || wrapper === argv[0]
    ? []
    : [shell({ text: plain(wrapper.text).replaceAll(',', ' '), from: wrapper.from })];
};

const tar: Unwrapper = (command) =>
  command.argv.slice(1).flatMap(({ text, from }, i) => {
    const [, code] =
      /^(?:--checkpoint-action=exec=|--to-command=|--use-compress-program=|--rsh-command=|--info-script=)([^]+)$/.exec(text) ?? [];
    if (code !== undefined) return [shell({ text: code, from })];
    const next = command.argv[i + 2];
    return /^(?:-I|--to-command|--use-compress-program|-F)$/.test(text) && next !== undefined ? [shell(next)] : [];
  });

/** Languages in which a program is the first operand. */
const awk: Unwrapper = (command) => {
  if (args(command).some((text) => /^(?:-f|--file)/.test(text))) return [];
  const program = rest(command, { takes: ['-F', '-v', '--field-separator', '--assign'] })[0];
  return program === undefined ? [] : [{ code: { language: 'text', value: program, source: 'argument' } }];
};

/** GNU sed runs a line with `e`, and `s///e` runs the result. */
const sed: Unwrapper = (command) =>
  command.argv.slice(1).flatMap(({ text, from }) => {
    const [, code] = /(?:^|[;\n}{]|\d|\/)\s{0,40}e\s+([^\n;]+)/.exec(text) ?? [];
    if (code !== undefined) return [shell({ text: code, from })];
    const replaced = /^s([^\\\n])(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1[gIip0-9]*e/.exec(text);
    return replaced === null ? [] : [shell({ text: replaced[2] as string, from })];
  });

const bang = inArguments(/(?:^|[:+|])\s*!\s*([^]+)$/);
/** `-c '!…'`, `+'call system("…")'` */
const vim: Unwrapper = (command, run, site) => [
  ...bang(command, run, site),
  ...command.argv
    .slice(1)
    .flatMap((value): Inner[] => (/\bsystem/.test(value.text) ? [{ code: { language: 'text', value, source: 'argument' } }] : [])),
];

/** `--eval`, and the recipes of a makefile that this act wrote. */
const make: Unwrapper = (command, run) => {
  const words = args(command);
  const at = words.findIndex((text) => /^(?:-f|--file|--makefile)$/.test(text));
  const files = at < 0 ? ['GNUmakefile', 'makefile', 'Makefile'] : words.slice(at + 1, at + 2);
  const given = words.flatMap((text, i) => /^--eval=([^]+)$/.exec(text)?.[1] ?? (text === '--eval' ? (words[i + 1] ?? []) : []));
  const written = files.flatMap((path) => (path === '-' ? command.stdin : run.files.get(absolute(path, command.cwd)))?.text ?? []);
  const shells = words.flatMap((text) => /^SHELL=([^]+)$/.exec(text)?.[1] ?? []).map((text) => shell(fixed(text)));
  const recipes = [...given, ...written].flatMap((text) => {
    const found = text.matchAll(/\$\(shell ([^)]{0,1000})\)|(?<![^\n])(?:\t[-@+]*(.+)$|[^\s:#=][^:#=\n]*:[^=;\n]*;\s*[-@+]*(.+)$)/gm);
    return [...found].slice(0, maxItems).map((one) => shell(fixed((one[1] ?? one[2] ?? one[3] ?? '').replaceAll('$$', '$'))));
  });
  return [...shells, ...recipes];
};

/** Clients of data bases run shell code by commands of their own, in arguments and input. */
const sql: Unwrapper = (command) => {
  const own =
    /(?:(?:^[ \t]*(?:\.(?:shell|system)|system)\b|\\!)[ \t]*(?<code>[^\n]+)|(?:^[ \t]*\.(?:import|output|once|read)|\\[og])[ \t]+(?:"\|(?<double>[^"\n]+)"|'\|(?<single>[^'\n]+)'|\|(?<bare>[^\n]+)))/gm;
  const texts = [...command.argv.slice(1), ...(command.stdin === null ? [] : [command.stdin])];
  return texts.flatMap(({ text, from }) =>
    [...text.matchAll(own)]
      .slice(0, maxItems)
      .map(({ groups }) => shell({ text: Object.values(groups ?? {}).find((one) => one !== undefined) ?? '', from })),
  );
};

const container: Unwrapper = (command) => {
  const verb = args(command).findIndex((text) => text === 'exec' || text === 'run');
  if (verb < 0) return [];
  const inner = command.argv.slice(verb + 2);
  const end = inner.findIndex((word) => word.text === '--');
  const at = inner.findIndex((word) => /^(?:\/(?:usr\/)?bin\/)?(?:sh|bash|rm|dd|chroot|nsenter|cat)$/.test(word.text));
  return end >= 0 ? [{ argv: inner.slice(end + 1) }] : at < 0 ? [] : [{ argv: inner.slice(at) }];
};

export const runners: Readonly<Record<string, Unwrapper>> = {
  find,
  fd: (command) => {
    const at = command.argv.findIndex((word) => /^(?:-x|-X|--exec|--exec-batch)$/.test(word.text));
    return at < 0 ? [] : [{ argv: command.argv.slice(at + 1) }];
  },
  xargs,
  parallel,
  ssh,
  eval: evaluate,
  source,
  '.': source,
  git,
  trap,
  alias: inArguments(/^[^=]*=([^]*)$/),
  tar,
  bsdtar: tar,
  awk,
  gawk: awk,
  mawk: awk,
  nawk: awk,
  sed,
  gsed: sed,
  vi: vim,
  vim,
  nvim: vim,
  ex: vim,
  ed: (command) =>
    command.stdin === null ? [] : [...command.stdin.text.matchAll(/^!(.+)$/gm)].map((one) => shell(fixed(one[1] as string))),
  cmake,
  ...Object.fromEntries(['gcc', 'g++', 'cc', 'c++'].map((name) => [name, compiler])),
  go: stringOption(/^--?(?:exec|toolexec|vettool)(?:=|$)/),
  sort: stringOption(/^--compress-program(?:=|$)/),
  rg: stringOption(/^--(?:pre|hostname-bin)(?:=|$)/),
  man: stringOption(/^(?:-P|--pager(?:=|$))/),
  zip: stringOption(/^(?:-TT|--unzip-command(?:=|$))/),
  helm: stringOption(/^--post-renderer(?:=|$)/),
  'nix-shell': stringOption(/^--(?:run|command)(?:=|$)/),
  less: inArguments(/^\+!([^]+)$/),
  more: inArguments(/^\+!([^]+)$/),
  dc: inLines(/^!([^<>=].*)$/gm),
  m4: inLines(/\be?syscmd\([ \t]*[`']*([^)\n]+)/gm),
  gdb: inArguments(/^(?:shell|!)\s*([^]+)$/),
  make,
  gmake: make,
  docker: container,
  podman: container,
  nerdctl: container,
  kubectl: container,
  npm: (command, run, site) => {
    if (!['exec', 'x'].includes(args(command)[0] ?? '')) return [];
    const code = stringOption(/^(?:-c|--call(?:=|$))/)(command, run, site);
    return code.length > 0 ? code : [{ argv: rest({ ...command, argv: command.argv.slice(1) }, {}) }];
  },
  sqlite3: sql,
  duckdb: sql,
  psql: sql,
  mysql: sql,
  mariadb: sql,
  pylint: (command) =>
    command.argv.slice(1).flatMap(({ text, from }, i) => {
      const [, attached] = /^--init-hook=([^]+)$/.exec(text) ?? [];
      const value = attached !== undefined ? { text: attached, from } : text === '--init-hook' ? command.argv[i + 2] : undefined;
      return value === undefined ? [] : [{ code: { language: 'python', value, source: 'argument' } }];
    }),
  entr: (command) => [{ argv: rest(command, {}) }],
  expect: inLines(/\b(?:spawn|exec)[ \t]+([^\n;]+)/g),
  crontab: (command) =>
    command.stdin === null
      ? []
      : command.stdin.text.split('\n').flatMap((line) => {
          const code = /^(?:@\w+|(?:\S+\s+){5}(?=\S))(.+)$/.exec(line.trim())?.[1];
          return code === undefined ? [] : [shell({ text: code, from: command.stdin?.from ?? [] })];
        }),
  at: (command) => (command.stdin === null ? [] : [shell(command.stdin)]),
  batch: (command) => (command.stdin === null ? [] : [shell(command.stdin)]),
};
