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
