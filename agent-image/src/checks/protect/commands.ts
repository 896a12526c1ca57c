/** One simple command of a check, after wrappers and assignments. */
export interface SimpleCommand {
  /** Without its directory. */
  readonly tool: string;
  /** As written: `./run.sh`, `pytest`. */
  readonly program: string;
  readonly words: readonly string[];
}

const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']);
const maxWords = 4096;

/** What runs another command: how many of its own words come before it. */
const wrappers: ReadonlyMap<string, number> = new Map([
  ...['env', 'time', 'nice', 'nohup', 'exec', 'command', 'sudo', 'stdbuf', 'npx', 'bunx', 'then', 'do', 'if', 'while', '!', '{'].map(
    (name) => [name, 0] as const,
  ),
  ['timeout', 1],
  ['faketime', 1],
]);
/** `uv run pytest`, `poetry run pytest`, `pnpm exec vitest`. */
const runners: Readonly<Record<string, readonly string[]>> = {
  uv: ['run'],
  poetry: ['run'],
  pipenv: ['run'],
  hatch: ['run'],
  pdm: ['run'],
  pnpm: ['exec', 'dlx'],
  yarn: ['exec', 'dlx'],
  npm: ['exec', 'x'],
  bundle: ['exec'],
  coverage: ['run'],
};

/** The simple commands of an argv; those of `sh -c '…'` too. */
export function commandsOf(argv: readonly string[]): SimpleCommand[] {
  const words = unwrap(argv.slice(0, maxWords));
  const [program] = words;
  if (program === undefined) return [];
  const tool = baseName(program);
  const own = { tool, program, words: words.slice(1) };
  if (!shells.has(tool)) return [own];
  const at = words.findIndex((word) => /^-[a-z]*c[a-z]*$/.test(word));
  return at === -1 ? [own] : shellCommands(words[at + 1] ?? '');
}

/** The simple commands of a script, as far as words tell: no expansion, no functions. Comments are left out. */
export function shellCommands(script: string): SimpleCommand[] {
  const lines = script
    .slice(0, 1 << 20)
    .replaceAll('\\\n', ' ')
    .split('\n');
  return lines
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(/&&|\|\||[;|&()`]|\$\(/))
    .map((part) =>
      part
        .trim()
        .replace(/^[@+-]+/, '')
        .split(/\s+/)
        .map(unquote)
        .filter((word) => word !== ''),
    )
    .filter((words) => words.length > 0)
    .flatMap((words) => commandsOf(words));
}

function unwrap(argv: readonly string[]): readonly string[] {
  let words = argv;
  for (let step = 0; step < 8; step += 1) {
    const [first = '', second = ''] = words;
    if (/^[A-Za-z_]\w*=/.test(first)) words = words.slice(1);
    else if (wrappers.has(baseName(first))) words = afterOptions(words.slice(1), wrappers.get(baseName(first)) ?? 0);
    else if (runners[baseName(first)]?.includes(second) === true) words = afterOptions(words.slice(2), 0);
    else return words;
  }
  return words;
}

function afterOptions(words: readonly string[], own: number): readonly string[] {
  const start = words.findIndex((word) => !word.startsWith('-'));
  return start === -1 ? [] : words.slice(start + own);
}

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const unquote = (word: string): string => word.replace(/^["']+|["']+$/g, '');
