// agent-image, checks/protect: simple commands in the command of a check. May import protocol, kube and the keeper's client.

/** One simple command of a check, after wrappers and assignments. */
export interface SimpleCommand {
  /** Name without its directory. */
  readonly tool: string;
  /** As written: `./run.sh`, `pytest`. */
  readonly program: string;
  readonly words: readonly string[];
}

const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']);
const maxWords = 4096;

/** Programs that run another command, with the number of their own words before it. */
const wrappers: ReadonlyMap<string, number> = new Map([
  ...'env time nice nohup exec command sudo stdbuf xargs npx bunx then do if while ! {'.split(' ').map((name) => [name, 0] as const),
  ['timeout', 1],
  ['faketime', 1],
]);
/** `uv run pytest`, `poetry run pytest`, `pnpm exec vitest`. */
const runners = /^(?:(?:uv|poetry|pipenv|hatch|pdm|coverage) run|(?:pnpm|yarn) (?:exec|dlx)|npm (?:exec|x)|bundle exec)$/;

/** Scripts within scripts; what is nested deeper names no commands. */
const maxNested = 8;

/** The simple commands of an argv; those of `sh -c '…'` too. */
export function commandsOf(argv: readonly string[], depth = 0): SimpleCommand[] {
  const words = unwrap(argv.slice(0, maxWords));
  const [program] = words;
  if (program === undefined) return [];
  const tool = baseName(program);
  const own = { tool, program, words: words.slice(1) };
  if (tool === 'eval') return shellCommands(words.slice(1).join(' '), depth + 1);
  if (!shells.has(tool)) return [own];
  const at = words.findIndex((word) => /^-(?=[a-z]*$)[a-z]*c/.test(word));
  return at === -1 ? [own] : shellCommands(words[at + 1] ?? '', depth + 1);
}

/**
 * Returns the simple commands of a script, by its words only: no expansion, no functions. A quoted text is one word, so
 * that a program in quotes (`python3 -c '…'`) names no commands; commands inside double quotes (`"$(…)"`) are named.
 * The lines of a here-document count where a shell reads them.
 */
export function shellCommands(script: string, depth = 0): SimpleCommand[] {
  if (depth > maxNested) return [];
  return new ScriptReader(script.slice(0, 1 << 20).replaceAll('\\\n', ' '), depth).read();
}

/** Ends a word, and the second ones its command too. */
const blank = /[ \t\r]/;
const separator = /[;|&()`\n]/;

class ScriptReader {
  readonly #script: string;
  readonly #depth: number;
  readonly #found: SimpleCommand[] = [];
  #at = 0;
  #words: string[] = [];
  /** The word being read; null between words. */
  #word: string | null = null;
  /** Ends of here-documents that begin at the next line. */
  #documents: string[] = [];

  constructor(script: string, depth: number) {
    this.#script = script;
    this.#depth = depth;
  }

  read(): SimpleCommand[] {
    while (this.#at < this.#script.length) this.#next();
    this.#endCommand();
    return this.#found;
  }

  #next(): void {
    const rest = this.#script.slice(this.#at, this.#at + 200);
    const char = rest.charAt(0);
    const document = this.#word === null ? /^<<-?\s*(["']?)([A-Za-z_]\w*)\1/.exec(rest) : null;
    this.#at += document?.[0].length ?? 1;
    if (document !== null) this.#documents.push(document[2] ?? '');
    else if (char === '#' && this.#word === null) this.#at = this.#find('\n');
    else if (char === '\\') this.#add(this.#script.charAt(this.#at++));
    else if (char === "'") this.#quoted();
    else if (char === '"') this.#doubleQuoted();
    else if (blank.test(char)) this.#endWord();
    else if (!separator.test(char)) this.#add(char);
    else if (char === '\n') this.#endLine();
    else this.#endCommand();
  }

  #doubleQuoted(): void {
    const end = /(?:[^"\\]|\\[^])*/y;
    end.lastIndex = this.#at;
    const text = end.exec(this.#script)?.[0] ?? '';
    this.#at += text.length + 1;
    this.#add(text);
    const last = text.lastIndexOf(')');
    const begins = /\$\(|`([^`]*)`/g;
    for (let found = begins.exec(text); found !== null; found = begins.exec(text)) {
      if (found[1] !== undefined) this.#inside(found[1]);
      else if (found.index < last) {
        this.#inside(text.slice(begins.lastIndex, last));
        begins.lastIndex = last + 1;
      }
    }
  }

  #inside(script: string): void {
    for (const command of shellCommands(script, this.#depth + 1)) this.#found.push(command);
  }

  /** A line ends; here-documents that were opened on it follow. */
  #endLine(): void {
    const isShell = shells.has(baseName(unwrap(this.#words)[0] ?? this.#word ?? ''));
    this.#endCommand();
    for (const end of this.#documents.splice(0)) {
      const body = this.#script.slice(this.#at);
      const close = new RegExp(`^\\t*${end}$`, 'm').exec(body);
      const length = close === null ? body.length : close.index + close[0].length;
      this.#at += length;
      if (isShell) this.#inside(body.slice(0, close?.index ?? length));
    }
  }

  #endCommand(): void {
    this.#endWord();
    const [first = '', ...others] = this.#words;
    this.#words = [];
    const words = [first.replace(/^[@+-]+/, ''), ...others].filter((word) => word !== '');
    if (words.length === 0) return;
    for (const command of commandsOf(words, this.#depth)) this.#found.push(command);
  }

  #endWord(): void {
    if (this.#word !== null) this.#words.push(this.#word);
    this.#word = null;
  }

  #add(text: string): void {
    this.#word = (this.#word ?? '') + text;
  }

  /** Returns where a text begins next; the end when it does not occur. */
  #find(text: string): number {
    const at = this.#script.indexOf(text, this.#at);
    return at === -1 ? this.#script.length : at;
  }

  #quoted(): void {
    const end = this.#find("'");
    this.#add(this.#script.slice(this.#at, end));
    this.#at = end + 1;
  }
}

function unwrap(argv: readonly string[]): readonly string[] {
  let words = argv;
  for (let step = 0; step < 8; step += 1) {
    const [first = '', second = ''] = words;
    const own = wrappers.get(baseName(first));
    if (/^[A-Za-z_]\w*=/.test(first)) words = words.slice(1);
    else if (own !== undefined) words = afterOptions(words.slice(1), own);
    else if (runners.test(`${baseName(first)} ${second}`)) words = afterOptions(words.slice(2), 0);
    else return words;
  }
  return words;
}

function afterOptions(words: readonly string[], own: number): readonly string[] {
  const start = words.findIndex((word) => !word.startsWith('-'));
  return start === -1 ? [] : words.slice(start + own);
}

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
