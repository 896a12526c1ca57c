import type { Edit, GenerateRequest } from '@agentfleet/protocol/inference';
import { candidateId } from '../candidateId.ts';
import { sha256, type TextEdit } from './edit.ts';
import type { Entry } from './pool.ts';

/** An entry's edits as the wire has them, and the id that follows from them. */
export interface WireEntry {
  readonly id: string;
  readonly edits: readonly Edit[];
}

/** Turns entries into their wire form, each once: callers exclude by id again and again. */
export class Wire {
  readonly #files: readonly WireFile[];
  readonly #known = new Map<string, WireEntry>();

  constructor(request: GenerateRequest) {
    this.#files = request.files.map(({ path, content }) => new WireFile(path, content));
  }

  of(entry: Entry): WireEntry {
    const known = this.#known.get(entry.key);
    if (known !== undefined) return known;
    const file = this.#files[entry.file];
    if (file === undefined) throw new RangeError(`there is no file ${entry.file}`);
    const edits = entry.edits.map((edit) => file.edit(edit));
    const made = { id: candidateId(edits), edits };
    this.#known.set(entry.key, made);
    return made;
  }
}

/** One file with the byte offset of each of its lines. */
class WireFile {
  readonly #path: string;
  readonly #content: string;
  readonly #sha256: string;
  readonly #lines: readonly { readonly at: number; readonly byte: number }[];

  constructor(path: string, content: string) {
    this.#path = path;
    this.#content = content;
    this.#sha256 = sha256(content);
    const lines = [{ at: 0, byte: 0 }];
    let byte = 0;
    for (const { index } of content.matchAll(/\n/g)) {
      byte += Buffer.byteLength(content.slice(lines.at(-1)?.at, index + 1));
      lines.push({ at: index + 1, byte });
    }
    this.#lines = lines;
  }

  edit({ start, end, after }: TextEdit): Edit {
    const before = this.#content.slice(start, end);
    const startByte = this.#byte(start);
    const range = { startByte, endByte: startByte + Buffer.byteLength(before) };
    return { path: this.#path, range, before, after, expectedSha256: this.#sha256 };
  }

  #byte(offset: number): number {
    let [low, high] = [0, this.#lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lines[middle]?.at ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const line = this.#lines[low] ?? { at: 0, byte: 0 };
    return line.byte + Buffer.byteLength(this.#content.slice(line.at, offset));
  }
}
