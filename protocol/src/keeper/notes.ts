// protocol, keeper: requests and answers of `/v1/notes` and `/v1/tree`. May import environment alone.
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';
import { path } from './schema.ts';

/**
 * Body of `POST /v1/notes`: a decision of the worker, put into the hash-chained event log as a record of type `Noted` whose body
 * is `{kind, data}`. A worker that takes the task over reads there how far it is.
 */
const note = {
  kind: Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Z][A-Za-z0-9]*$', description: 'what kind of decision, CamelCase' }),
  data: Type.Record(Type.String({ maxLength: 128 }), Type.Unknown(), { description: 'at most 256 KiB as JSON' }),
};
const Note = closed(note);
export type Note = Static<typeof Note>;

/** Most notes of one request. */
export const maxNotes = 16;

export const NoteRequest = closed({
  ...note,
  next: Type.Optional(
    Type.Array(Note, {
      minItems: 1,
      maxItems: maxNotes - 1,
      description: 'what follows it, written with it: a crash keeps a beginning of all',
    }),
  ),
});
export type NoteRequest = Static<typeof NoteRequest>;

/** Largest `data` of a note, in bytes of JSON. */
export const maxNoteBytes = 256 * 1024;

/** Answer of `POST /v1/notes`; the record, the last of several, is on disk. */
export interface NoteWritten {
  readonly seq: number;
  readonly hash: string;
}

/** Largest archive that `PUT /v1/tree` takes, in bytes. */
export const maxTreeBytes = 4 * 1024 * 1024 * 1024;

/**
 * Query of `PUT /v1/tree` (body: a tar stream, `application/x-tar`) and of `GET /v1/tree` (answer: one, in GNU format, so that
 * names may hold any bytes): the folder that its paths are relative to.
 */
export const TreeQuery = closed({ path });
export type TreeQuery = Static<typeof TreeQuery>;

/** Answer of `PUT /v1/tree`. */
export interface TreeWritten {
  readonly path: string;
  readonly files: number;
  readonly folders: number;
  readonly links: number;
  readonly bytes: number;
}

/**
 * Headers of the answer of `GET /v1/tree`, which come before the first byte: what the archive holds, and how many sockets,
 * fifos, devices and closed files it leaves out. An archive that breaks off has no end mark, and the connection shows it, too.
 */
export const treeHeaders = {
  entries: 'agentfleet-tree-entries',
  bytes: 'agentfleet-tree-bytes',
  skipped: 'agentfleet-tree-skipped',
} as const;
