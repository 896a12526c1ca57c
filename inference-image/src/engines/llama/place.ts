import { createHash } from 'node:crypto';
import type { Edit, FocusFile } from '@agentfleet/protocol/inference';
import { InferenceError } from '../../base/failure.ts';

/** An edit in UTF-16 units of the file that it belongs to. */
export interface PlacedEdit {
  readonly content: string;
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly after: string;
}

/** Finds the places of edits in the files of a request; each file is hashed once. */
export class Places {
  readonly #files: ReadonlyMap<string, { readonly content: string; readonly bytes: Buffer; readonly sha256: string }>;

  constructor(files: readonly FocusFile[]) {
    this.#files = new Map(
      files.map(({ path, content }) => {
        const bytes = Buffer.from(content);
        return [path, { content, bytes, sha256: createHash('sha256').update(bytes).digest('hex') }];
      }),
    );
  }

  /** @throws InferenceError AF_INVALID for an edit that is not of these files; `field` names it */
  place({ path, range, before, after, expectedSha256 }: Edit, field: string): PlacedEdit {
    const refuse = (message: string): InferenceError => new InferenceError('AF_INVALID', `${field}: ${message}`, { field });
    const file = this.#files.get(path);
    if (file === undefined) throw refuse(`${path} is not among the files of the request`);
    if (file.sha256 !== expectedSha256) throw refuse(`${path} has sha256 ${file.sha256}, not ${expectedSha256}`);
    const { startByte, endByte } = range;
    if (endByte < startByte || file.bytes.subarray(startByte, endByte).toString() !== before) {
      throw refuse(`bytes ${startByte}…${endByte} of ${path} are not what "before" says`);
    }
    const start = file.bytes.subarray(0, startByte).toString().length;
    return { content: file.content, path, start, end: start + before.length, after };
  }
}
