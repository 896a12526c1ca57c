import { Type, type Static } from 'typebox';

/** Largest file that one request reads or writes, in bytes. */
export const maxFileBytes = 64 * 1024 * 1024;

/** Query of `GET /v1/files` and `PUT /v1/files` (body: the bytes, `application/octet-stream`). */
export const FileQuery = Type.Object(
  {
    path: Type.String({ minLength: 2, maxLength: 4096, pattern: '^/' }),
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
