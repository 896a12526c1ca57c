// protocol, keeper: requests, answers and bounds of file reads, searches and edits. May import environment alone.
import { Type, type Static } from 'typebox';
import { Redaction, type RedactionCounts } from './redaction.ts';
import { SyntaxMode, type SyntaxVerdict } from './syntax.ts';
import { closed } from '../object.ts';
import { path, sha256, ulid } from './schema.ts';

/** Largest file that one request reads or writes, in bytes. */
export const maxFileBytes = 64 * 1024 * 1024;

/** Largest file that an edit (replace, patch) takes apart, and largest text of one edit, in bytes. */
export const editBounds = { fileBytes: 8 * 1024 * 1024, textBytes: 256 * 1024 } as const;

/** Query of `PUT /v1/files` (body: the bytes, `application/octet-stream`). */
export const FileQuery = closed({
  path,
  mode: Type.Optional(Type.String({ pattern: '^0?[0-7]{3}$', description: 'octal; PUT only; default 644, or the mode the file has' })),
  redaction: Type.Optional(Redaction),
  syntax: Type.Optional(Type.Enum(['Check', 'Skip'], { description: 'PUT only; default Skip: an upload is not looked at' })),
});
export type FileQuery = Static<typeof FileQuery>;

/** Answer of `PUT /v1/files`. */
export interface FileWritten {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly created: boolean;
  /** Of a write that asked for a check. */
  readonly syntax?: SyntaxVerdict;
}

/** Body of `POST /v1/files/replace`: one text of a file is replaced by another, if it stands there exactly once. */
export const ReplaceRequest = closed({
  path,
  old: Type.String({ minLength: 1, maxLength: editBounds.textBytes, description: 'must occur exactly once, byte for byte' }),
  new: Type.String({ maxLength: editBounds.textBytes }),
  expectedSha256: Type.Optional({ ...sha256, description: 'of the whole file; another content is refused (AF_EDIT_STALE)' }),
  check: Type.Optional(
    Type.Enum(['None', 'Json'], { description: 'Json: a result that is no JSON is refused before it is written; default None' }),
  ),
  syntax: Type.Optional(SyntaxMode),
});
export type ReplaceRequest = Static<typeof ReplaceRequest>;

/** Answer of `POST /v1/files/replace`. */
export interface FileReplaced extends FileWritten {
  readonly previousSha256: string;
  /** Line on which the old text began, from 1. */
  readonly line: number;
}

/** Bounds of one patch: the diff, the files it names, all their old and new contents together, and the lines of one file. */
export const patchBounds = { diffBytes: 4 * 1024 * 1024, files: 1000, contentBytes: 32 * 1024 * 1024, lines: 500_000 } as const;

/**
 * Body of `POST /v1/files/patch`: a unified diff over any number of files, applied whole or not at all. Plain diffs and
 * git's: created, deleted and renamed files, modes 100644 and 100755; no copies, links, submodules, binary patches. Context
 * must match byte for byte. A hunk that does not match at its line is taken at the only other place where it does.
 */
export const PatchRequest = closed({
  requestId: ulid('a ULID chosen by the caller; repeating it answers again, never applies again'),
  path: { ...path, description: 'the folder that the names in the diff are relative to' },
  diff: Type.String({ minLength: 1, maxLength: patchBounds.diffBytes }),
  strip: Type.Optional(Type.Integer({ minimum: 0, maximum: 16, description: 'leading components taken off names; default 1 (a/, b/)' })),
  expected: Type.Optional(
    Type.Record(Type.String({ maxLength: 4096 }), Type.Union([sha256, Type.Null()]), {
      maxProperties: patchBounds.files,
      description: 'SHA-256 by name relative to path, null = no such file; another content is refused (AF_EDIT_STALE)',
    }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'say what would be done; nothing is written, recorded or remembered' })),
  syntax: Type.Optional(SyntaxMode),
});
export type PatchRequest = Static<typeof PatchRequest>;

/** Result for one file of a patch. `R` = renamed, and perhaps changed. */
export interface PatchedFile {
  /** Relative to the folder; bytes that are no UTF-8, control characters and `%` as `%XX`. */
  readonly path: string;
  readonly op: 'A' | 'M' | 'D' | 'R';
  /** The old name of a renamed file. */
  readonly from?: string;
  /** Null for a deleted one. */
  readonly sha256: string | null;
  readonly bytes: number;
  readonly mode: number;
  /** Hunks that were not at their line: number of the hunk, and how many lines further down it stood. */
  readonly offsets: readonly { readonly hunk: number; readonly lines: number }[];
  /** Absent for a deleted one. */
  readonly syntax?: SyntaxVerdict;
}

/** Answer of `POST /v1/files/patch`. */
export interface PatchReport {
  readonly requestId: string;
  readonly path: string;
  readonly applied: boolean;
  readonly files: readonly PatchedFile[];
}

/** Caps of listing, searching and reading lines; what is over them is reported by `truncated`. */
export const lookBounds = {
  entries: 10_000,
  matches: 1000,
  /** Of a search: files and bytes that are looked at, size of one file, characters of a line, and time. */
  files: 100_000,
  bytes: 256 * 1024 * 1024,
  fileBytes: 8 * 1024 * 1024,
  lineChars: 64 * 1024,
  millis: 10_000,
  /** Bytes of one answer's lines. */
  textBytes: 1024 * 1024,
} as const;

const count = (description: string): ReturnType<typeof Type.String> => Type.String({ pattern: '^[1-9][0-9]{0,8}$', description });

/** Query of `GET /v1/files/list`. */
export const ListQuery = closed({
  path,
  depth: Type.Optional(count('levels below the folder; default 1')),
  limit: Type.Optional(count('entries at most; default 1000, at most 10000')),
  redaction: Type.Optional(Redaction),
});
export type ListQuery = Static<typeof ListQuery>;

/** Entry of a folder; links are reported, not followed. */
export interface FileEntry {
  /** Relative to the folder that was asked for; bytes that are no UTF-8, control characters and `%` as `%XX`. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly bytes: number;
  readonly mode: number;
  /** Target of a link, as it is written there. */
  readonly target?: string;
}

/** Answer of `GET /v1/files/list`: folder by folder, each sorted by the bytes of its names. */
export interface FileList {
  readonly path: string;
  readonly entries: readonly FileEntry[];
  readonly truncated: boolean;
  /** Folders that could not be opened. */
  readonly unreadable: number;
  /** Folders of installed packages whose contents are not listed, the first 8; list one by its own path. That of git is not listed either. */
  readonly leftOut?: readonly string[];
  readonly redacted?: RedactionCounts;
}

/** Query of `GET /v1/files/search`: exactly one of `text` and `regex`, sought in each line of the text files below a folder, or of one file. */
export const SearchQuery = closed({
  path,
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  regex: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'RE2: . [] () | * + ? {n,m} ^ $ \\d \\w \\s \\b and their opposites; no look-around, no back-references',
    }),
  ),
  ignoreCase: Type.Optional(Type.Enum(['true', 'false'])),
  include: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'pattern of file names: * ? **; without a slash it is about the last part',
    }),
  ),
  limit: Type.Optional(count('matching lines at most; default 200, at most 1000')),
  redaction: Type.Optional(Redaction),
});
export type SearchQuery = Static<typeof SearchQuery>;

/**
 * A line that matches: where its first match begins (line and character from 1), and the line, cut to 400 characters. Its path is
 * below the searched one, and empty where that is the file.
 */
export interface SearchMatch {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

/** Answer of `GET /v1/files/search`. */
export interface SearchResult {
  readonly path: string;
  readonly matches: readonly SearchMatch[];
  readonly truncated: boolean;
  /** The bound that ended the search; null when all was searched. */
  readonly endedBy: 'Matches' | 'Files' | 'Bytes' | 'Time' | null;
  /** Files that were searched. */
  readonly files: number;
  /** Files that were not: with NUL bytes or no UTF-8, over 8 MiB, closed to the keeper; and lines cut at 64 Ki characters. */
  readonly skipped: { readonly binary: number; readonly large: number; readonly unreadable: number; readonly longLines: number };
  /** Folders of installed packages that were not searched, the first 8; name one as path, or in the pattern of names. Nor was that of git. */
  readonly leftOut?: readonly string[];
  readonly redacted?: RedactionCounts;
}

/** Query of `GET /v1/files/lines`. */
export const LinesQuery = closed({
  path,
  from: Type.Optional(count('first line, from 1; default 1')),
  to: Type.Optional(count('last line; default the end')),
  redaction: Type.Optional(Redaction),
});
export type LinesQuery = Static<typeof LinesQuery>;

/** Answer of `GET /v1/files/lines`: whole lines with their ends. */
export interface FileLines {
  readonly path: string;
  /** First and last line that are in `text`; `to` is `from` - 1 when there are none. */
  readonly from: number;
  readonly to: number;
  /** Lines of the whole file, and its SHA-256: what an edit may expect. */
  readonly lines: number;
  readonly sha256: string;
  readonly text: string;
  /** Lines that were asked for are missing: together they are over 1 MiB. */
  readonly truncated: boolean;
  readonly redacted?: RedactionCounts;
}
