// agent-image, rails/shell: preparation of a command line for the grammar. May import rails/verdict and rails/syntax, no rail.

/**
 * Makes a command line ready for the grammar, which does not know line continuations inside words,
 * mistakes many here-documents and words that start with a brace. Here-documents are taken out and
 * replaced by an input redirect that names them; here-strings become such redirects too, which the
 * grammar knows in every place.
 */
export interface Prepared {
  readonly text: string;
  /** Offset in the input of each character of `text`, and one past the end. */
  readonly offsets: readonly number[];
  readonly heredocs: readonly Heredoc[];
  /** A quote, substitution or here-document was still open at the end. */
  readonly unbalanced: boolean;
}

interface Heredoc {
  readonly body: string;
  /** No expansion happens in the body. */
  readonly quoted: boolean;
}

/** Beginning of the word of a here-string, after it was made an input redirect. */
export const hereStringMark = '\uE00D';
/** The file by which an input redirect names the here-document with this number. */
const heredocWord = (index: number): string => `\uE00E${index}\uE00F`;
export const heredocPattern = /^'?\uE00E(\d+)\uE00F'?$/;

const maxHeredocs = 256;

type Context = 'code' | 'paren' | 'quote' | 'tick' | 'brace' | 'arith' | 'index';

export function prepare(input: string): Prepared {
  return new Preparation(input).run();
}

class Preparation {
  readonly #input: string;
  #out = '';
  readonly #offsets: number[] = [];
  readonly #heredocs: Heredoc[] = [];
  readonly #stack: Context[] = ['code'];
  #pending: { word: string; dash: boolean; index: number }[] = [];
  #at = 0;
  #open = false;

  constructor(input: string) {
    this.#input = input;
  }

  run(): Prepared {
    while (this.#at < this.#input.length) this.#step();
    const unbalanced = this.#open || this.#stack.length > 1 || this.#pending.length > 0;
    this.#offsets.push(this.#input.length);
    return { text: this.#out, offsets: this.#offsets, heredocs: this.#heredocs, unbalanced };
  }

  #emit(text: string, offset = this.#at): void {
    this.#out += text;
    for (let i = 0; i < text.length; i += 1) this.#offsets.push(offset);
  }

  #take(count: number): void {
    for (let i = 0; i < count && this.#at < this.#input.length; i += 1, this.#at += 1) this.#emit(this.#input[this.#at] as string);
  }

  #step(): void {
    const context = this.#stack.at(-1) ?? 'code';
    const rest = (length: number): string => this.#input.slice(this.#at, this.#at + length);
    if (rest(2) === '\\\n') this.#at += 2;
    else if (rest(1) === '\\') this.#escape(context);
    else if (rest(3) === '$((' && this.#isArithmetic(1)) this.#enter('arith', 3);
    else if (rest(2) === '$[') this.#enter('index', 2);
    else if (rest(2) === '$(') this.#enter('paren', 2);
    else if (rest(2) === '${') this.#enter('brace', 2);
    else if (rest(1) === '$' && context !== 'arith' && context !== 'index') this.#dollar(context);
    else if (rest(1) === '`') this.#toggle('tick');
    else if (rest(1) === '"') this.#toggle('quote');
    else if (context === 'quote') this.#take(1);
    else if (context === 'arith') this.#arithmetic();
    else if (context === 'index') this.#index();
    else if (context === 'brace') this.#brace();
    else this.#code();
  }

  /** The grammar tears `$1` and `$x` from what is in front of them; braces hold them. */
  #dollar(context: Context): void {
    const name = /^\$([A-Za-z_]\w*|[0-9@*])/.exec(this.#input.slice(this.#at, this.#at + 256))?.[1];
    if (name !== undefined) {
      // Braces expand first: `$u{p,q}` is `$up $uq`, which is never written on purpose.
      if (context !== 'quote' && /^\{[^}]*(?:,|\.\.)/.test(this.#input.slice(this.#at + name.length + 1))) this.#open = true;
      this.#emit(`\${${name}}`);
      this.#at += name.length + 1;
    } else if (context !== 'quote' && this.#input[this.#at + 1] === '"') this.#at += 1;
    else this.#take(1);
  }

  /** The grammar loses escaped blanks, and ends words at a backslash behind a quote or expansion: quotes say the same. */
  #escape(context: Context): void {
    const next = this.#input[this.#at + 1] ?? '';
    const outside = context === 'code' || context === 'paren';
    const keeps =
      next === '' || (this.#startsWord() && /[A-Za-z]/.test(next)) || /\[\[\s/.test(this.#out.slice(-256).split('\n').at(-1) ?? '');
    if (!outside || keeps) this.#take(2);
    else {
      this.#emit(next === "'" ? `"'"` : `'${next}'`);
      this.#at += 2;
    }
  }

  #enter(context: Context, length: number): void {
    this.#stack.push(context);
    this.#take(length);
  }

  #leave(length: number): void {
    this.#stack.pop();
    this.#take(length);
  }

  #toggle(context: Context): void {
    if (this.#stack.at(-1) === context) this.#leave(1);
    else this.#enter(context, 1);
  }

  /** `((` opens arithmetic only when its parentheses close together. */
  #isArithmetic(skip: number): boolean {
    let depth = 0;
    for (let i = this.#at + skip; i < this.#input.length; i += 1) {
      if (i > this.#at + 4096) this.#open = true;
      if (this.#open) return false;
      const at = this.#input[i];
      if (at === '(') depth += 1;
      if (at === ')') {
        depth -= 1;
        if (depth === 1) return this.#input[i + 1] === ')';
      }
    }
    return false;
  }

  #arithmetic(): void {
    if (this.#input.startsWith('))', this.#at)) this.#leave(2);
    else this.#take(1);
  }

  #index(): void {
    if (this.#input[this.#at] === ']') this.#leave(1);
    else this.#take(1);
  }

  #brace(): void {
    const at = this.#input[this.#at];
    if (at === '}') this.#leave(1);
    else if (at === "'" && !this.#stack.includes('quote')) this.#single();
    else this.#take(1);
  }

  #single(): void {
    const ansi = this.#input[this.#at - 1] === '$';
    let end = this.#at + 1;
    while (end < this.#input.length && this.#input[end] !== "'") end += ansi && this.#input[end] === '\\' ? 2 : 1;
    if (end >= this.#input.length) this.#open = true;
    this.#take(end + 1 - this.#at);
  }

  #code(): void {
    const at = this.#input[this.#at] as string;
    const next = this.#input[this.#at + 1] ?? '';
    if (at === "'") this.#single();
    else if (at === '#' && /[`)]/.test(this.#out.at(-1) ?? '')) {
      // Behind a substitution it is part of the word.
      this.#emit("'#'");
      this.#at += 1;
    } else if (at === '#' && this.#startsWord()) this.#comment();
    else if (at === '\n') this.#newline();
    else if (
      at === '!' &&
      /\s/.test(next) &&
      /(?:^|[;&|({\n]|(?:^|\s)(?:if|while|until|then|do|else|elif|!|time))\s*$/.test(this.#out.slice(-64))
    ) {
      // The grammar takes `! {` for a command; what a command is does not depend on its negation.
      this.#emit(' ');
      this.#at += 1;
    } else if (at === '(' && next === '(' && this.#startsWord() && this.#isArithmetic(0)) this.#enter('arith', 2);
    else if (at === '(') this.#enter('paren', 1);
    else if (at === ')' && this.#stack.at(-1) === 'paren') this.#leave(1);
    else if (at === '<') this.#less();
    else if (at === '{' && this.#startsWord() && /[^\s;&|()<>]/.test(next)) {
      this.#emit("''");
      this.#take(1);
    } else this.#take(1);
  }

  #startsWord(): boolean {
    return this.#out === '' || /[\s;&|()<>`]/.test(this.#out.at(-1) ?? '');
  }

  #comment(): void {
    const end = this.#input.indexOf('\n', this.#at);
    this.#at = end < 0 ? this.#input.length : end;
  }

  #less(): void {
    if (this.#input.startsWith('<<<', this.#at)) {
      this.#emit(`<'${hereStringMark}'`);
      this.#at += 3;
      while (/[ \t]/.test(this.#input[this.#at] ?? '')) this.#at += 1;
    } else if (this.#input.startsWith('<<', this.#at)) this.#heredoc();
    else if (this.#input.startsWith('<>', this.#at)) {
      // The grammar does not know it. Opening for both is judged as writing.
      this.#emit('> ');
      this.#at += 2;
    } else this.#take(1);
  }

  #heredoc(): void {
    const found = /^<<(-?)[ \t]*((?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|()<>'"\\])+)/.exec(this.#input.slice(this.#at, this.#at + 512));
    if (found === null || this.#heredocs.length >= maxHeredocs) {
      this.#open ||= found !== null;
      this.#take(2);
      return;
    }
    const index = this.#heredocs.length;
    // `a[1<<2]=x` is no here-document to bash; what follows it would be hidden.
    if (/[[(][^\s]*$/.test(this.#out.slice(-256))) this.#open = true;
    this.#heredocs.push({ body: '', quoted: /['"\\]/.test(found[2] as string) });
    this.#pending.push({ word: (found[2] as string).replace(/['"\\]/g, ''), dash: found[1] === '-', index });
    this.#emit(`<'${heredocWord(index)}'`);
    this.#at += found[0].length;
  }

  #newline(): void {
    this.#take(1);
    for (const { word, dash, index } of this.#pending) {
      const lines: string[] = [];
      let closed = false;
      while (!closed && this.#at < this.#input.length) {
        const end = this.#input.indexOf('\n', this.#at);
        const line = this.#input.slice(this.#at, end < 0 ? undefined : end).replace(dash ? /^\t+/ : /^(?!)/, '');
        this.#at = end < 0 ? this.#input.length : end + 1;
        closed = line === word;
        if (!closed) lines.push(line);
      }
      if (!closed) this.#open = true;
      const body = lines.map((line) => `${line}\n`).join('');
      this.#heredocs[index] = { body, quoted: this.#heredocs[index]?.quoted ?? false };
    }
    this.#pending = [];
  }
}
