import * as fc from 'fast-check';

/** For tests only: ways to write a command so that bash runs the same. */
export type Wrapper = (command: string) => string;

export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Every line of a wrapped command may hold a comment or end a here-document: so newlines, not semicolons. */
export const wrappers: Readonly<Record<string, Wrapper>> = {
  subshell: (c) => `(\n${c}\n)`,
  group: (c) => `{\n${c}\n}`,
  shell: (c) => `sh -c ${quote(c)}`,
  bash: (c) => `bash -c ${quote(c)}`,
  eval: (c) => `eval ${quote(c)}`,
  env: (c) => `env A=1 sh -c ${quote(c)}`,
  prefix: (c) => `A=1 B=2 bash -c ${quote(c)}`,
  timeout: (c) => `timeout 5 nohup sh -c ${quote(c)}`,
  variable: (c) => `v=${quote(c)}\neval "$v"`,
  printed: (c) => `eval "$(printf '%s' ${quote(c)})"`,
  piped: (c) => `printf '%s\\n' ${quote(c)} | sh`,
  and: (c) => `true && {\n${c}\n}`,
  andTrue: (c) => `{\n${c}\n} && true`,
  or: (c) => `false || {\n${c}\n}`,
  comment: (c) => `${c}\n# it's done`,
  condition: (c) => `if true; then\n${c}\nfi`,
  test: (c) => `if {\n${c}\n}; then :; fi`,
  loop: (c) => `for i in 1; do\n${c}\ndone`,
  once: (c) => `while {\n${c}\n}; do break; done`,
  choice: (c) => `case x in (*)\n${c}\n;; esac`,
  function: (c) => `f() {\n${c}\n}\nf`,
  shadow: (c) => `id() {\n${c}\n}\nid`,
  pipe: (c) => `: | {\n${c}\n} | cat`,
  negated: (c) => `! {\n${c}\n}`,
  substitution: (c) => `: "$(\n${c}\n)"`,
  assignment: (c) => `x=$(\n${c}\n)`,
  arithmetic: (c) => `: $((1 + $(\n${c}\n)))`,
  process: (c) => `cat <(\n${c}\n)`,
  heredoc: (c) => `sh <<'MARK'\n${c}\nMARK`,
  herestring: (c) => `bash <<< ${quote(c)}`,
  positional: (c) => `set -- ${quote(c)}\neval "$1"`,
  array: (c) => `a=(eval ${quote(c)})\n"\${a[@]}"`,
  deflt: (c) => `d=${quote(c)}\neval "\${undefined_name:-$d}"`,
  file: (c) => `printf '%s\\n' ${quote(c)} > script.tmp\nsh script.tmp`,
  redirected: (c) => `{\n${c}\n} 2> err.tmp`,
  background: (c) => `{\n${c}\n} &\nwait`,
};

/** Wrappers whose text must not be in a here-document or quotes of the same kind twice. */
const notNested = new Set(['heredoc']);

export const wrapping: fc.Arbitrary<readonly string[]> = fc
  .array(fc.constantFrom(...Object.keys(wrappers)), { minLength: 1, maxLength: 4 })
  .filter((names) => names.filter((name) => notNested.has(name)).length <= 1);

/** Applies wrappers, the first innermost. */
export function wrap(command: string, names: readonly string[]): string {
  return names.reduce((inner, name) => (wrappers[name] as Wrapper)(inner), command);
}

/** One way per character to write a word; blanks between words are kept, or made by a variable. */
export const spelling: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(6), { minLength: 1, maxLength: 24 });

export function spell(command: string, ways: readonly number[]): string {
  const words = command.split(' ');
  return words
    .map((word, w) => Array.from(word, (one, i) => letter(one, ways[(w * 7 + i) % ways.length] ?? 0, i === word.length - 1)).join(''))
    .join((ways[0] ?? 0) === 6 ? ' \\\n  ' : ' ');
}

function letter(one: string, way: number, last: boolean): string {
  // A quoted tilde or glob would mean something else.
  if (!/[A-Za-z0-9/.-]/.test(one)) return one;
  switch (way) {
    case 1:
      return `"${one}"`;
    case 2:
      return `'${one}'`;
    case 3:
      return `\\${one}`;
    case 4:
      return `$'\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}'`;
    case 5:
      // A substitution takes line ends off the end of what it prints.
      return last ? one : `${one}\\\n`;
    default:
      return one;
  }
}

/** Parts of words in many kinds of quotes and expansions, for a comparison with what bash makes of them. */
const atoms = [
  'a',
  'b-',
  '/',
  '\\m',
  '\\ ',
  "\\'",
  '\\"',
  '"x y"',
  "'q r'",
  "''",
  '""',
  "$'\\x41'",
  '{p,q}',
  '{1..3}',
  '$v',
  '${v}',
  '"$v"',
  '${v:-z}',
  '${u:-z}',
  '${u:+z}',
  '$u',
  '"${w}"',
  '$w',
  '$(echo s)',
  '"$(echo \'s t\')"',
  "$(echo 's t')",
  '`echo k`',
  '=',
  '#',
  '@',
  '%',
  ']',
  '+',
  '$((1+2))',
  '${v%o}',
  '${v#f}',
  '${v^^}',
  '${w// /_}',
  '\\$',
  '\\\\',
  '$"d"',
  '"\\$e"',
  '"a\\"b"',
  '${v:1}',
  '${v/o/0}',
  '\\{',
  '${x[1]}',
  '"${x[@]}"',
  '${x[@]}',
  '$1',
  '"$@"',
] as const;
export const wordsOfAtoms: fc.Arbitrary<string> = fc
  .array(fc.array(fc.constantFrom(...atoms), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
  .map((words) => `v=foo; w='g h'; x=(i j k); set -- P "Q R"; victim ${words.map((parts) => parts.join('')).join(' ')}`);
