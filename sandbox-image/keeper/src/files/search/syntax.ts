import { KeeperError } from '../../failure.ts';

/** Ranges of code points, both ends included. */
export interface CharSet {
  readonly negated: boolean;
  readonly ranges: readonly (readonly [number, number])[];
}

export type Assertion = 'start' | 'end' | 'boundary' | 'inside';

/** A regular expression taken apart. */
export type Node =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'cat' | 'alt'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly min: number; readonly max: number | null };

const digit: CharSet['ranges'] = [[0x30, 0x39]];
const word: CharSet['ranges'] = [...digit, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const space: CharSet['ranges'] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
];
const classes: Readonly<Record<string, CharSet>> = {
  d: { negated: false, ranges: digit },
  D: { negated: true, ranges: digit },
  w: { negated: false, ranges: word },
  W: { negated: true, ranges: word },
  s: { negated: false, ranges: space },
  S: { negated: true, ranges: space },
};
const controls: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, a: 0x07 };
const last = 0x10_ffff;
const maxDepth = 50;
const maxRepeat = 1000;

/** Takes a pattern apart. @throws KeeperError `AF_INVALID` naming the place */
export function parseRegex(pattern: string): Node {
  const parser = new Parser(pattern);
  return parser.whole();
}

class Parser {
  readonly #chars: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#chars = Array.from(pattern);
  }

  whole(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#chars.length) throw this.#fault('a ")" that closes nothing');
    return node;
  }

  #alternatives(): Node {
    const parts = [this.#sequence()];
    while (this.#skip('|')) parts.push(this.#sequence());
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'alt', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) {
      parts.push(this.#repeated(this.#atom()));
    }
    return { kind: 'cat', parts };
  }

  #repeated(part: Node): Node {
    const times = this.#times();
    if (times === null) return part;
    if (part.kind === 'assert') throw this.#fault('a repeated assertion');
    this.#skip('?'); // lazy or not: the same lines match
    if (this.#times() !== null) throw this.#fault('a repetition of a repetition; put the inner one in parentheses');
    return { kind: 'repeat', part, ...times };
  }

  #times(): { readonly min: number; readonly max: number | null } | null {
    if (this.#skip('*')) return { min: 0, max: null };
    if (this.#skip('+')) return { min: 1, max: null };
    if (this.#skip('?')) return { min: 0, max: 1 };
    const counted = /^\{(\d{1,5})(?:(,)(\d{0,5}))?\}/.exec(this.#chars.slice(this.#at, this.#at + 14).join(''));
    if (counted === null) return null;
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    const open = counted[2] !== undefined && counted[3] === '';
    const max = counted[2] === undefined ? min : open ? null : Number(counted[3]);
    if (min > maxRepeat || (max ?? 0) > maxRepeat) throw this.#fault(`a repetition over ${maxRepeat} times`);
    if (max !== null && max < min) throw this.#fault('a repetition that ends before it begins');
    return { min, max };
  }

  #atom(): Node {
    const char = this.#take();
    if (char === '(') return this.#group();
    if (char === '[') return { kind: 'set', set: this.#class() };
    if (char === '.') return { kind: 'set', set: { negated: false, ranges: [[0, last]] } };
    if (char === '^') return { kind: 'assert', what: 'start' };
    if (char === '$') return { kind: 'assert', what: 'end' };
    if (char === '\\') return this.#escape();
    if (char === '*' || char === '+' || char === '?') throw this.#fault(`a "${char}" that repeats nothing`);
    return literal(char.codePointAt(0) ?? 0);
  }

  #group(): Node {
    if (++this.#depth > maxDepth) throw this.#fault(`over ${maxDepth} nested groups`);
    if (this.#skip('?') && !this.#skip(':')) throw this.#fault('"(?": only (?: is known; there is no look-around');
    const node = this.#alternatives();
    if (!this.#skip(')')) throw this.#fault('a "(" that is not closed');
    this.#depth -= 1;
    return node;
  }

  #escape(): Node {
    const char = this.#take();
    if (char === 'b') return { kind: 'assert', what: 'boundary' };
    if (char === 'B') return { kind: 'assert', what: 'inside' };
    const set = classes[char];
    return set === undefined ? literal(this.#escaped(char)) : { kind: 'set', set };
  }

  /** The code point of an escape; only what is no letter or digit stands for itself, so that nothing is taken for something else. */
  #escaped(char: string): number {
    const control = controls[char];
    if (control !== undefined) return control;
    const hex = char === 'x' ? /^[0-9a-fA-F]{2}/ : char === 'u' ? /^[0-9a-fA-F]{4}/ : null;
    const digits = hex?.exec(this.#chars.slice(this.#at, this.#at + 4).join(''))?.[0];
    if (digits !== undefined) {
      this.#at += digits.length;
      return Number.parseInt(digits, 16);
    }
    if (char === '' || /[a-zA-Z0-9]/.test(char)) throw this.#fault(`the escape "\\${char}", which is not known`);
    return char.codePointAt(0) ?? 0;
  }

  #class(): CharSet {
    const negated = this.#skip('^');
    const ranges: (readonly [number, number])[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      const low = this.#classMember(ranges);
      if (low === null) continue;
      const isRange = this.#peek() === '-' && this.#chars[this.#at + 1] !== ']' && this.#at + 1 < this.#chars.length;
      if (isRange) this.#at += 1;
      const high = isRange ? this.#classMember(ranges) : low;
      if (high === null || high < low) throw this.#fault('a range that ends before it begins');
      ranges.push([low, high]);
    }
    this.#at += 1;
    return { negated, ranges };
  }

  /** A code point of a class; null when it was a class of its own, which is then in `ranges`. */
  #classMember(ranges: (readonly [number, number])[]): number | null {
    const char = this.#take();
    if (char === '') throw this.#fault('a "[" that is not closed');
    if (char !== '\\') return char.codePointAt(0) ?? 0;
    const escaped = this.#take();
    const set = classes[escaped];
    if (set === undefined) return escaped === 'b' ? 0x08 : this.#escaped(escaped);
    ranges.push(...(set.negated ? complement(set.ranges) : set.ranges));
    return null;
  }

  #peek(): string | undefined {
    return this.#chars[this.#at];
  }

  #take(): string {
    return this.#chars[this.#at++] ?? '';
  }

  #skip(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at += 1;
    return true;
  }

  #fault(what: string): KeeperError {
    return new KeeperError('AF_INVALID', `regex: at character ${Math.min(this.#at, this.#chars.length)} there is ${what}`);
  }
}

function literal(point: number): Node {
  return { kind: 'set', set: { negated: false, ranges: [[point, point]] } };
}

function complement(ranges: CharSet['ranges']): CharSet['ranges'] {
  const out: (readonly [number, number])[] = [];
  let from = 0;
  for (const [low, high] of ranges) {
    if (low > from) out.push([from, low - 1]);
    from = high + 1;
  }
  return [...out, [from, last]];
}

/** An instruction of the machine that {@link Matcher} runs. */
export type Instruction =
  | { readonly op: 'set'; readonly set: CharSet }
  | { readonly op: 'assert'; readonly what: Assertion }
  | { readonly op: 'fork'; readonly to: readonly number[] }
  | { readonly op: 'match' };

/** The time for a character grows with this. */
const maxInstructions = 1000;

/** Thompson's construction (1968). @throws KeeperError `AF_INVALID` for a pattern that grows too large */
export function compile(node: Node): readonly Instruction[] {
  const program: Instruction[] = [];
  emit(program, node);
  add(program, { op: 'match' });
  return program;
}

function add(program: Instruction[], instruction: Instruction): number {
  if (program.length >= maxInstructions) {
    throw new KeeperError('AF_INVALID', `regex: with its repetitions written out it has over ${maxInstructions} parts`);
  }
  return program.push(instruction) - 1;
}

function emit(program: Instruction[], node: Node): void {
  if (node.kind === 'set') add(program, { op: 'set', set: node.set });
  else if (node.kind === 'assert') add(program, { op: 'assert', what: node.what });
  else if (node.kind === 'repeat') emitRepeat(program, node.part, node.min, node.max);
  else if (node.kind === 'alt') emitAlternatives(program, node.parts);
  else for (const part of node.parts) emit(program, part);
}

function emitAlternatives(program: Instruction[], parts: readonly Node[]): void {
  const to: number[] = [];
  const ends: number[] = [];
  const fork = add(program, { op: 'fork', to });
  for (const part of parts) {
    to.push(program.length);
    emit(program, part);
    ends.push(add(program, { op: 'fork', to: [] }));
  }
  program[fork] = { op: 'fork', to };
  for (const end of ends) program[end] = { op: 'fork', to: [program.length] };
}

function emitRepeat(program: Instruction[], part: Node, min: number, max: number | null): void {
  for (let n = 0; n < min; n++) emit(program, part);
  if (max === null) {
    const fork = add(program, { op: 'fork', to: [] });
    emit(program, part);
    add(program, { op: 'fork', to: [fork] });
    program[fork] = { op: 'fork', to: [fork + 1, program.length] };
    return;
  }
  const forks: number[] = [];
  for (let n = min; n < max; n++) {
    forks.push(add(program, { op: 'fork', to: [] }));
    emit(program, part);
  }
  for (const fork of forks) program[fork] = { op: 'fork', to: [fork + 1, program.length] };
}

/** The code point of a character. */
export function point(char: string): number {
  return char.codePointAt(0) ?? 0;
}
