import type { Instruction, Assertion, CharSet } from './syntax.ts';

const none = -1;

/**
 * Runs a program over a line: all ways at once, so that the time is at most the length of the line times that of the
 * program, whatever both are (Thompson 1968; leftmost start as in Pike's sam). Threads are kept in the order of their
 * starts, so that the first one to reach an instruction is the one that began furthest to the left.
 */
export class Matcher {
  readonly #program: readonly Instruction[];
  readonly #fold: boolean;
  #now: Threads;
  #next: Threads;

  constructor(program: readonly Instruction[], ignoreCase: boolean) {
    this.#program = program;
    this.#fold = ignoreCase;
    this.#now = new Threads(program.length);
    this.#next = new Threads(program.length);
  }

  /** Where the leftmost match begins (UTF-16 units); -1 when there is none. */
  find(line: string): number {
    let best = none;
    let before = none;
    this.#now.clear();
    for (let at = 0; ;) {
      const point = line.codePointAt(at) ?? none;
      if (best === none) this.#add(this.#now, 0, at, before, point);
      best = this.#matched(best);
      if (point === none || (best !== none && this.#now.size === 0)) return best;
      const size = point > 0xffff ? 2 : 1;
      this.#step(point, line.codePointAt(at + size) ?? none, best);
      before = point;
      at += size;
    }
  }

  /** The start of a match among the threads, if it is further to the left. */
  #matched(best: number): number {
    for (let n = 0; n < this.#now.size; n++) {
      const start = this.#now.startOf(n);
      if (best !== none && start >= best) break;
      if (this.#program[this.#now.at(n)]?.op === 'match') return start;
    }
    return best;
  }

  #step(point: number, after: number, best: number): void {
    this.#next.clear();
    for (let n = 0; n < this.#now.size; n++) {
      const start = this.#now.startOf(n);
      if (best !== none && start >= best) break;
      const at = this.#now.at(n);
      const instruction = this.#program[at];
      if (instruction?.op === 'set' && this.#has(instruction.set, point)) this.#add(this.#next, at + 1, start, point, after);
    }
    [this.#now, this.#next] = [this.#next, this.#now];
  }

  /** Adds an instruction and all that is reached from it without a character. */
  #add(threads: Threads, instruction: number, start: number, before: number, after: number): void {
    const stack = [instruction];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (!threads.add(at, start)) continue;
      const what = this.#program[at];
      if (what?.op === 'fork') stack.push(...what.to);
      else if (what?.op === 'assert' && holds(what.what, before, after)) stack.push(at + 1);
    }
  }

  #has(set: CharSet, point: number): boolean {
    return (contains(set, point) || (this.#fold && otherCases(point).some((other) => contains(set, other)))) !== set.negated;
  }
}

/** Instructions with their starts, in the order of adding; each once. */
class Threads {
  readonly #places: Int32Array;
  readonly #starts: Int32Array;
  readonly #indexOf: Int32Array;
  size = 0;

  constructor(length: number) {
    this.#places = new Int32Array(length);
    this.#starts = new Int32Array(length);
    this.#indexOf = new Int32Array(length);
  }

  add(place: number, start: number): boolean {
    const index = this.#indexOf[place] ?? 0;
    if (index < this.size && this.#places[index] === place) return false;
    this.#places[this.size] = place;
    this.#starts[this.size] = start;
    this.#indexOf[place] = this.size;
    this.size += 1;
    return true;
  }

  at(index: number): number {
    return this.#places[index] ?? 0;
  }

  startOf(index: number): number {
    return this.#starts[index] ?? 0;
  }

  clear(): void {
    this.size = 0;
  }
}

function otherCases(point: number): readonly number[] {
  const char = String.fromCodePoint(point);
  return [char.toLowerCase(), char.toUpperCase()].map((other) => other.codePointAt(0) ?? point);
}

function contains({ ranges }: CharSet, point: number): boolean {
  for (const [low, high] of ranges) if (point >= low && point <= high) return true;
  return false;
}

function holds(what: Assertion, before: number, after: number): boolean {
  if (what === 'start') return before === none;
  if (what === 'end') return after === none;
  return (isWord(before) !== isWord(after)) === (what === 'boundary');
}

function isWord(point: number): boolean {
  return (point >= 0x61 && point <= 0x7a) || (point >= 0x41 && point <= 0x5a) || (point >= 0x30 && point <= 0x39) || point === 0x5f;
}
