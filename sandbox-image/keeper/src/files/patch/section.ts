import { KeeperError } from '../../failure.ts';
import type { BytePath } from '../../snapshot/index.ts';

/** One hunk. Texts are bytes (latin1) with their line ends; a last line without one has none. */
export interface Hunk {
  /** Number within its file, from 1, and the line of the diff on which it begins. */
  readonly number: number;
  readonly line: number;
  /** Line of the old file, from 1; for a hunk without old lines the one after which it goes. */
  readonly start: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What a diff says about one file. Names are as in the diff, stripped; null where there is no such file. */
export interface Section {
  readonly line: number;
  readonly from: BytePath | null;
  readonly to: BytePath | null;
  /** Whether the file is executable afterwards; null = as it was. */
  readonly executable: boolean | null;
  readonly hunks: readonly Hunk[];
}

/** A refusal of the diff itself. */
export function badDiff(line: number, why: string): KeeperError {
  return new KeeperError('AF_PATCH_INVALID', `line ${line} of the diff: ${why}`);
}
