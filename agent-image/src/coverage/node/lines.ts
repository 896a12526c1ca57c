// agent-image, coverage/node: lines of a source that V8 ranges cover. Runs in the sandbox: imports this folder and Node only.
import type { Profiler } from 'node:inspector';

/** Lines without code: blank, brackets alone, or a comment. */
const idle = /^(?:[\s{}()[\];,]*|\s*\/[/*].*|\s*\*(?:[\s/].*)?)$/;

/** Brackets and separators: they may be outside of the range that they end. */
const mark = /[\s{}()[\];,]/;

/** A source, line by line, as offsets of UTF-16 units: those that V8 counts in. */
export class SourceLines {
  readonly #text: string;
  readonly #lines: readonly { readonly line: number; readonly start: number; readonly end: number }[];
  readonly length: number;

  constructor(text: string) {
    this.#text = text;
    this.length = text.length;
    let at = 0;
    const lines = text.split('\n').map((content, index) => {
      const start = at + content.length - content.trimStart().length;
      at += content.length + 1;
      return { line: index + 1, start, end: at - 1, idle: idle.test(content) };
    });
    this.#lines = lines.filter((one) => !one.idle);
  }

  /** Returns the lines of which something was executed. Inner ranges come after outer ones and take precedence. */
  covered(functions: readonly Profiler.FunctionCoverage[]): readonly number[] {
    const counted = new Uint8Array(this.length);
    for (const { ranges } of functions) {
      for (const { startOffset, endOffset, count } of ranges) counted.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    }
    return this.#lines.filter((line) => this.#executed(line, counted)).map(({ line }) => line);
  }

  #executed({ start, end }: { readonly start: number; readonly end: number }, counted: Uint8Array): boolean {
    for (let at = start; at < end; at += 1) if (counted[at] === 1 && !mark.test(this.#text[at] ?? '')) return true;
    return false;
  }
}
