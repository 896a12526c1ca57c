import { Type, type Static } from 'typebox';

/** Largest file that one request reads or writes, in bytes. */
export const maxFileBytes = 64 * 1024 * 1024;

/** Largest file that an edit (replace, patch) takes apart, and largest text of one edit, in bytes. */
export const editBounds = { fileBytes: 8 * 1024 * 1024, textBytes: 256 * 1024 } as const;

const path = Type.String({ minLength: 2, maxLength: 4096, pattern: '^/' });
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** Query of `PUT /v1/files` (body: the bytes, `application/octet-stream`). */
export const FileQuery = Type.Object(
  {
    path,
    mode: Type.Optional(Type.String({ pattern: '^0?[0-7]{3}$', description: 'octal; PUT only; default 644, or the mode the file has' })),
  },
  { additionalProperties: false },
);
export type FileQuery = Static<typeof FileQuery>;

/** Answer of `PUT /v1/files`. */
export interface FileWritten {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly created: boolean;
}

/** Body of `POST /v1/files/replace`: one text of a file is replaced by another, if it stands there exactly once. */
export const ReplaceRequest = Type.Object(
  {
    path,
    old: Type.String({ minLength: 1, maxLength: editBounds.textBytes, description: 'must occur exactly once, byte for byte' }),
    new: Type.String({ maxLength: editBounds.textBytes }),
    expectedSha256: Type.Optional({ ...sha256, description: 'of the whole file; another content is refused (AF_EDIT_STALE)' }),
    check: Type.Optional(
      Type.Enum(['None', 'Json'], { description: 'Json: a result that is no JSON is refused before it is written; default None' }),
    ),
  },
  { additionalProperties: false },
);
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
export const PatchRequest = Type.Object(
  {
    requestId: Type.String({
      pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$',
      description: 'a ULID chosen by the caller; repeating it answers again, never applies again',
    }),
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
  },
  { additionalProperties: false },
);
export type PatchRequest = Static<typeof PatchRequest>;

/** What became of one file of a patch. `R` = renamed, and perhaps changed. */
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
}

/** Answer of `POST /v1/files/patch`. */
export interface PatchReport {
  readonly requestId: string;
  readonly path: string;
  readonly applied: boolean;
  readonly files: readonly PatchedFile[];
}
